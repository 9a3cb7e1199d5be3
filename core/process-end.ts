/**
 * `EX_CONFIG` of sysexits: the configuration or the arguments are wrong. The supervisor does not
 * restart a process with this status.
 */
export const EXIT_CONFIGURATION = 78;

/** Ends the process for good. The message on standard error says what to change. */
export function refuseToStart(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(EXIT_CONFIGURATION);
}

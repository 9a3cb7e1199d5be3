import { beforeEach, onTestFailed } from 'vitest';

/**
 * Characters shown of the end of the logs, and of the end without lines about successful requests:
 * under load those lines push errors far back.
 */
const SHOWN_CHARACTERS = 6000;
const WENT_WELL = /"status":2\d\d,.*"msg":"request"/;

/** Prints the processes' logs when a test fails. */
export function showLogsOnFailure(stack: () => { logs(): string } | undefined): void {
  beforeEach(() => {
    onTestFailed(() => {
      const logs = stack()?.logs() ?? 'the stack did not start';
      const other = logs.split('\n').filter((line) => !WENT_WELL.test(line));
      process.stderr.write(`Without what went well:\n${other.join('\n').slice(-SHOWN_CHARACTERS)}\n`);
      process.stderr.write(`The end of all:\n${logs.slice(-SHOWN_CHARACTERS)}\n`);
    });
  });
}

const EVERY_MS = 1_000;

/**
 * Tells the supervisor, if there is one, that this process serves, and repeats it while its event
 * loop runs: the supervisor kills a process that hangs (supervisor/children/node-child.ts). The
 * next message waits until the last was sent, so none pile up while the supervisor is suspended.
 */
export function reportListening(): void {
  process.send?.({ type: 'listening' }, (error) => {
    if (error === null) setTimeout(reportListening, EVERY_MS).unref();
  });
}

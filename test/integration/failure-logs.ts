import { beforeEach, onTestFailed } from 'vitest';

/** Shows the end of what the processes wrote, for failed tests only. */
const SHOWN_CHARACTERS = 6000;

export function showLogsOnFailure(stack: () => { logs(): string } | undefined): void {
  beforeEach(() => {
    onTestFailed(() => {
      process.stderr.write(`${stack()?.logs().slice(-SHOWN_CHARACTERS) ?? 'the stack did not start'}\n`);
    });
  });
}

import { beforeEach, onTestFailed } from 'vitest';

/**
 * Characters of the end of all logs, and of the end of the lines that are not successful requests:
 * under load these are long gone when a test fails.
 */
const SHOWN_CHARACTERS = 6000;
const WENT_WELL = /"status":2\d\d,.*"msg":"request"/;

/** Shows what the processes wrote, for failed tests only. */
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

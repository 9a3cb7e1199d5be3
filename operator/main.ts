import type { Result } from './command-line/result.ts';
import { runCommandLine } from './command-line.ts';

/** The command line: results to standard output, failures to standard error, or both as JSON. */

const EXIT_STATUS = { done: 0, refused: 1, usage: 2 } as const;
const LONGEST_SHOWN_AGAIN = 4_096;

const given = process.argv.slice(2);
const asJson = given.includes('--json');
const result = await runCommandLine(given, process.env);
process.exitCode = EXIT_STATUS[result.kind];
const isReport = result.kind === 'done' || (result.kind === 'refused' && result.isReport);
const message = result.kind === 'done' ? result.text : result.message;
if (asJson) print(JSON.stringify(jsonOf(result)));
else if (isReport) print(message);
else process.stderr.write(`${message}\n`);

function jsonOf(ended: Result): object {
  if (ended.kind === 'done') return ended.json;
  return (ended.kind === 'refused' ? ended.json : undefined) ?? { error: ended.message };
}

/** A lost output may have the only copy of a reference, key or password. */
function print(text: string): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    const isShort = text.length <= LONGEST_SHOWN_AGAIN;
    // `| head -1` of a long list.
    if (code === 'EPIPE' && !isShort) return;
    process.exitCode = EXIT_STATUS.refused;
    process.stderr.write(`The command has ended, but its output could not be written (${code})`);
    process.stderr.write(isShort ? `:\n${text}\n` : '.\n');
  });
  process.stdout.write(`${text}\n`);
}

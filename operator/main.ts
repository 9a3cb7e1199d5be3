import type { Result } from './command-line/result.ts';
import { runCommandLine } from './command-line.ts';

/** The command line: results to standard output, failures to standard error, or both as JSON. */

const EXIT_STATUS = { done: 0, refused: 1, usage: 2 } as const;

const given = process.argv.slice(2);
const asJson = given.includes('--json');
const result = await runCommandLine(
  given.filter((arg) => arg !== '--json'),
  process.env,
);
if (asJson) process.stdout.write(`${JSON.stringify(jsonOf(result))}\n`);
else if (result.kind === 'done') process.stdout.write(`${result.text}\n`);
else if (result.kind === 'refused' && result.isReport) process.stdout.write(`${result.message}\n`);
else process.stderr.write(`${result.message}\n`);
process.exitCode = EXIT_STATUS[result.kind];

function jsonOf(ended: Result): object {
  if (ended.kind === 'done') return ended.json;
  return (ended.kind === 'refused' ? ended.json : undefined) ?? { error: ended.message };
}

import type { Environment } from '#core/config/load.ts';
import { withoutKeys } from '#core/key-secret.ts';
import { type FlagSpec, parseArguments } from './command-line/arguments.ts';
import type { Command } from './command-line/command.ts';
import type { Result } from './command-line/result.ts';
import { table } from './command-line/table.ts';
import { CHECK_CONFIG } from './commands/check-config.ts';
import { COST_COMMANDS } from './commands/costs.ts';
import { KEY_COMMANDS } from './commands/key.ts';
import { LEDGER_COMMANDS } from './commands/ledger.ts';
import { CHECKPOINT_COMMANDS } from './commands/ledger-checkpoints.ts';
import { DEAD_LETTER_COMMANDS } from './commands/ledger-dead-letters.ts';
import { VERIFY } from './commands/ledger-verify.ts';
import { MIGRATE } from './commands/migrate.ts';
import { MODEL_COMMANDS } from './commands/models.ts';
import { ORGANIZATION_COMMANDS } from './commands/org.ts';
import { USER_COMMANDS } from './commands/user.ts';
import { DOCTOR } from './doctor/doctor.ts';

const COMMANDS: readonly Command[] = [
  CHECK_CONFIG,
  DOCTOR,
  ...MODEL_COMMANDS,
  ...ORGANIZATION_COMMANDS,
  ...KEY_COMMANDS,
  ...USER_COMMANDS,
  VERIFY,
  ...LEDGER_COMMANDS,
  ...COST_COMMANDS,
  ...CHECKPOINT_COMMANDS,
  ...DEAD_LETTER_COMMANDS,
  MIGRATE,
];
const HELP = new Set(['help', '--help', '-h']);

/** Finds, checks and runs the command. Messages have no API keys typed in the wrong place. */
export async function runCommandLine(args: readonly string[], env: Environment): Promise<Result> {
  const result = await run(args, env);
  return result.kind === 'done' ? result : { ...result, message: withoutKeys(result.message) };
}

async function run(given: readonly string[], env: Environment): Promise<Result> {
  const args = given.filter((arg) => arg !== '--json');
  if (args.length === 0) return { kind: 'usage', message: help(COMMANDS) };
  if (args.some((arg) => HELP.has(arg) && !isValue(args, arg))) {
    const words = args.filter((arg) => !HELP.has(arg));
    const asked = COMMANDS.filter(({ name }) => words.length > 0 && `${name} `.startsWith(`${words.join(' ')} `));
    const shown = asked.length > 0 ? asked : COMMANDS;
    return { kind: 'done', json: { commands: shown.map(usageLine) }, text: help(shown) };
  }
  const command = COMMANDS.find(({ name }) => `${args.join(' ')} `.startsWith(`${name} `));
  if (!command) return unknownCommand(args);
  const { positionals, flags, problems } = parseArguments(
    args.slice(command.name.split(' ').length),
    command.flags ?? [],
  );
  const twoForms = flags.has('csv') && args.length < given.length ? ['Give --csv or --json, not both.'] : [];
  const wrong = [...problems, ...twoForms, ...positionalProblems(command, positionals)];
  if (wrong.length > 0) return { kind: 'usage', message: [...wrong, `Usage: ${usageLine(command)}`].join('\n') };
  const result = await command.run({ positionals, flags, env });
  return result.kind === 'usage'
    ? { kind: 'usage', message: `${result.message}\nUsage: ${usageLine(command)}` }
    : result;
}

/** `help` is a command only in first place. After a flag it may be the flag's value. */
function isValue(args: readonly string[], arg: string): boolean {
  return arg === 'help' && args[0] !== 'help';
}

function unknownCommand(args: readonly string[]): Result {
  const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 2);
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `));
  // The whole help would push the problem, its first line, off the screen.
  const near = (group.length > 0 ? group : COMMANDS).map(usageLine).join('\n');
  return {
    kind: 'usage',
    message: `There is no command ${JSON.stringify(words.join(' ') || args.join(' '))}, but there are these:\n${near}`,
  };
}

function positionalProblems({ positionals: expected = [] }: Command, given: readonly string[]): string[] {
  const needed = expected.filter((placeholder) => !placeholder.startsWith('['));
  const missing = needed.slice(given.length).map((placeholder) => `${placeholder} is missing.`);
  const most = expected.at(-1)?.endsWith('…') ? given.length : expected.length;
  const extra = given.slice(most).map((text) => `${JSON.stringify(text)} is one argument too many.`);
  return [...missing, ...extra];
}

function help(commands: readonly Command[]): string {
  return [
    'Usage: npm run -s gateway -- COMMAND [--json]',
    '',
    table(commands.map((command) => [command.name, command.summary])),
    '',
    ...commands.map(usageLine),
  ].join('\n');
}

function usageLine({ name, positionals = [], flags = [] }: Command): string {
  return [name, ...positionals, ...flags.map(flagUsage)].join(' ');
}

function flagUsage({ name, value, required }: FlagSpec): string {
  const text = value === undefined ? `--${name}` : `--${name} ${value}`;
  return required ? text : `[${text}]`;
}

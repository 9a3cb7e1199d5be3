import { hostname, userInfo } from 'node:os';
import type { Environment } from '#core/config/load.ts';
import { isIdOf } from '#core/id-form.ts';
import type { Actor } from '#database/audit/audit.ts';
import type { FlagSpec } from './arguments.ts';
import { type Pool, withDatabase } from './database.ts';
import { createValueReader, type ValueReader } from './flag-values.ts';
import { type Result, refused } from './result.ts';

export interface Command {
  /** For example `org create`. */
  readonly name: string;
  readonly summary: string;
  /**
   * Placeholders of positional arguments. One in brackets is optional, and a last one with … may be
   * repeated. Absent: there are none.
   */
  readonly positionals?: readonly string[];
  readonly flags?: readonly FlagSpec[];
  run(call: CommandCall): Promise<Result>;
}

export interface CommandCall {
  readonly positionals: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  readonly env: Environment;
}

/** Reads all values first. If any is wrong, all wrong ones are reported and nothing changes. */
export async function onDatabase<T>(
  call: CommandCall,
  readValues: (values: ValueReader) => T,
  use: (pool: Pool, values: T) => Promise<Result>,
): Promise<Result> {
  const reader = createValueReader(call.flags);
  const values = readValues(reader);
  if (reader.problems.length > 0) return { kind: 'usage', message: reader.problems.join('\n') };
  return withDatabase(call.env, (pool) => use(pool, values));
}

export function flaglessCommand(
  name: string,
  summary: string,
  positionals: readonly string[],
  use: (pool: Pool, positionals: readonly string[]) => Promise<Result>,
): Command {
  const run = (call: CommandCall) => withDatabase(call.env, (pool) => use(pool, call.positionals));
  return { name, summary, positionals, run };
}

/** Refuses a malformed id like an unknown one, without a query. */
export function idProblem(kind: 'org' | 'key', id: string): Result | undefined {
  if (isIdOf(kind, id)) return undefined;
  // Never repeats a key in a message, because others may read terminals and logs.
  if (id.includes('sk-gw-')) return refused(`This is a key. IDs look like ${EXAMPLE[kind]}: \`key list\` has them.`);
  return refused(`There is no ${NOUN[kind]} ${JSON.stringify(id)}: ids look like ${EXAMPLE[kind]}.`);
}

export function unknown(kind: 'org' | 'key', id: string): Result {
  return refused(`There is no ${NOUN[kind]} ${id}.`);
}

const NOUN = { org: 'organization', key: 'key' };
const EXAMPLE = { org: 'org-01ARZ3NDEKTSV4RRFFQ69G5FAV', key: 'key-01ARZ3NDEKTSV4RRFFQ69G5FAV' };

/** Actor for the ledger and the audit log: the account on this machine. */
export function operatorHere(): Actor {
  return { actor: `${accountName()}@${hostname()}` };
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // The user id of a container may have no name.
    return String(process.getuid?.() ?? 'operator');
  }
}

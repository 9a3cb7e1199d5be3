import pg from 'pg';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { untilInForce, watchForChanges } from './in-force.ts';
import { asStatementError } from './unavailable.ts';

/** The part of the process's logger that stores need. pino implements it. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A pool, the connection of a transaction, or a connection that stays open. */
export type Connection = pg.Pool | pg.PoolClient | pg.Client;

export interface Timeouts {
  readonly connectMs: number;
  /** Time after which PostgreSQL cancels a statement. */
  readonly statementMs: number;
}

/** Margin over PostgreSQL's own timeout, which is first unless it or the network is frozen. */
export const ANSWER_MARGIN_MS = 500;

/**
 * Planner settings that make every statement look up rows by index. Without them, a plan prepared
 * while tables were empty would scan them whole until there are statistics. Generic plans save
 * about 1 ms of planning per execution. Without bitmap scans, memoize and materialize a lookup of
 * callers costs a fifth less (measured).
 */
const PLANNER_NODES = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin', 'memoize', 'material'];
const BY_INDEX = [
  ...PLANNER_NODES.map((node) => `set enable_${node} = off`),
  'set plan_cache_mode = force_generic_plan',
].join('; ');
/** Undoes the planner settings for one transaction that scans whole tables. */
export const READ_WHOLE = PLANNER_NODES.map((node) => `set local enable_${node} = on`).join('; ');
/** Plans each report for the values of its filters. */
const BY_VALUES = 'set plan_cache_mode = force_custom_plan';

/** Undoes time limits for sessions of the role. `transaction_timeout` came with PostgreSQL 17. */
export const NO_SESSION_LIMITS = `set idle_session_timeout = 0; select set_config('transaction_timeout', '0', false) where current_setting('transaction_timeout', true) is not null`;

/**
 * Charges lock rows and then read them, which would cause rollbacks under `serializable`. Notices
 * report changed callers (in-force.ts).
 */
const SESSION = `${NO_SESSION_LIMITS}; set client_min_messages = notice; set default_transaction_isolation = 'read committed'; set jit = off; set lock_timeout = 0; set idle_in_transaction_session_timeout = '10s'; set timezone = 'UTC'`;

/**
 * Refuses a standby with the error code of a write. A standby would serve lookups but accept no
 * charge, and a connection made before its promotion would skip NOTE_TIMELINE.
 */
export const REFUSE_READ_ONLY = `do $$ begin
    if current_setting('transaction_read_only')::boolean then
      raise exception using errcode = 'read_only_sql_transaction', message = 'the server is a standby, or set to read only';
    end if;
  end $$`;

/**
 * Notes a changed timeline, because the database may be another one since the last connection
 * (database/schema/functions/note_timeline.sql). An empty database does not have the function.
 */
const NOTE_TIMELINE = `do $$ begin
    if to_regprocedure('note_timeline()') is not null then perform note_timeline(); end if;
  end $$`;

/**
 * Keeps an unhandled `error` event from ending the process, because pg and its pool do not always
 * listen to a connection. The current or next statement and the pool report the error as well.
 */
export class GuardedClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}

export interface SessionSettings {
  /** `off` for rows that may be lost in a crash and must not wait for the disk. Default: `on`. */
  readonly synchronousCommit?: 'on' | 'off';
  /** `by_index` (default) for lookups, `by_values` for reports with varying filters. */
  readonly plans?: 'by_index' | 'by_values';
}

export function createPool(
  url: string,
  connections: number,
  timeouts: Timeouts,
  log: StoreLog,
  { synchronousCommit = 'on', plans = 'by_index' }: SessionSettings = {},
): pg.Pool {
  const pool = new pg.Pool({
    Client: GuardedClient,
    connectionString: url,
    application_name: 'inference-gateway',
    max: connections,
    connectionTimeoutMillis: timeouts.connectMs,
    query_timeout: timeouts.statementMs + ANSWER_MARGIN_MS,
    idleTimeoutMillis: 60_000,
    // Idle connections alone do not keep the process running.
    allowExitOnIdle: true,
    keepAlive: true,
    onConnect: async (client) => {
      const planner = plans === 'by_index' ? BY_INDEX : BY_VALUES;
      const own = `${planner}; set synchronous_commit = ${synchronousCommit}; set statement_timeout = ${timeouts.statementMs}`;
      await client.query(`${SESSION}; ${own}; ${REFUSE_READ_ONLY}; ${NOTE_TIMELINE}`);
    },
  });
  // The pool removes an idle connection that breaks. The next statement opens another.
  pool.on('error', (error) => log.warn({ error: error.message }, 'a connection to PostgreSQL was lost'));
  return pool;
}

/** A connection keeps nothing of it. For texts with many variants: each plan takes 0.5 MB. */
export interface UnpreparedStatement {
  readonly text: string;
}

export interface Statement extends UnpreparedStatement {
  /** Each connection prepares the statement once, under this name. */
  readonly name: string;
}

/** Declares a prepared statement: sql('find_key')`select …`. */
export function sql(name: string) {
  return (texts: TemplateStringsArray, ...parts: readonly (string | number)[]): Statement => ({
    name,
    text: String.raw({ raw: texts }, ...parts),
  });
}

export type Row = Readonly<Record<string, unknown>>;

/** Runs a statement. Rejects with StoreUnavailable. `timeoutMs` overrides the default. */
export async function run<R extends object = Row>(
  on: Connection,
  statement: UnpreparedStatement,
  values: unknown[],
  timeoutMs?: number,
): Promise<R[]> {
  // pg reads `query_timeout` from the statement, but its types do not have it.
  const patience = timeoutMs === undefined ? {} : { query_timeout: timeoutMs };
  try {
    const result = await on.query<R>({ ...statement, values, ...patience });
    return result.rows;
  } catch (error) {
    throw asStatementError(error);
  }
}

/** Returns the row of a statement that always has one, unless a restore has emptied its table. */
export async function only<R extends object>(on: Connection, statement: Statement, values: unknown[]): Promise<R> {
  const [row] = await run<R>(on, statement, values);
  if (row === undefined) throw new StoreUnavailable(`${statement.name} gave no row`);
  return row;
}

/** Members of a record that are integers of any size. `pg` returns them as text. */
type Amounts<R> = readonly (keyof R & string)[];

/** Runs a statement with columns named like a record's members. Null: the member is absent. */
export async function records<R extends object>(
  on: Connection,
  statement: Statement,
  values: unknown[],
  amounts: Amounts<R> = [],
): Promise<R[]> {
  return (await run(on, statement, values)).map((row) => recordOf(row, amounts));
}

export function recordOf<R extends object>(row: object, amounts: Amounts<R>): R {
  const present = Object.entries(row).filter(([, value]) => value !== null);
  const names: readonly string[] = amounts;
  return Object.fromEntries(present.map(([name, value]) => [name, names.includes(name) ? BigInt(value) : value])) as R;
}

/**
 * Runs `work` in one transaction and rolls back if it throws. A connection in an unknown state is
 * closed instead of reused. If callers were changed, resolves once the change is in force for every
 * new request (in-force.ts).
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  begin: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw asStatementError(error);
  });
  const watch = watchForChanges(client);
  let result: T;
  let mustWait: boolean;
  try {
    await client.query(begin);
    result = await work(client);
    await client.query('commit');
    mustWait = await watch.mustWait();
    client.release();
  } catch (error) {
    client.release(true);
    throw asStatementError(error);
  } finally {
    watch.end();
  }
  if (mustWait) await untilInForce();
  return result;
}

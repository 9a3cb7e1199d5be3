import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { GuardedClient } from './connection-pool.ts';
import { asStoreError } from './unavailable.ts';

/** The connection goes through a pooler that mixes sessions. The message says how to fix it. */
export class TransactionPooler extends Error {
  override readonly name = 'TransactionPooler';
}

export const TRANSACTION_POOLER =
  'Between here and PostgreSQL stands a pooler that gives each transaction another session (PgBouncer with pool_mode=transaction, or the like). ' +
  'Settings of a session, prepared statements and the lock of the limits would reach the sessions of others: charges could be lost with a crash, ' +
  'and two limit stores admit on one database. Set DATABASE_URL (or stores.postgres) to PostgreSQL itself, or to a pooler with session pooling.';

const CONNECT_MS = 3_000;
const ANSWER_MS = 3_000;
/** Several rounds, because a pooler may return the same session by chance. */
const ROUNDS = 5;
const SETTING = 'inference_gateway.session';

/**
 * Checks that a connection keeps its session (settings and backend) while another one is in a
 * transaction. Rejects with TransactionPooler, or with StoreUnavailable if PostgreSQL is
 * unavailable.
 */
export async function refuseTransactionPooler(url: string): Promise<void> {
  if (await hasTransactionPooler(url)) throw new TransactionPooler(TRANSACTION_POOLER);
}

export async function hasTransactionPooler(url: string): Promise<boolean> {
  const [session, other] = [clientOf(url), clientOf(url)];
  try {
    await Promise.all([session.connect(), other.connect()]);
    const token = randomUUID();
    const [first] = await rowsOf(session, `select set_config('${SETTING}', '${token}', false) as setting, ${BACKEND}`);
    for (let round = 0; round < ROUNDS; round++) {
      // A pooler hands out first the session that was just released.
      const [inTransaction] = await rowsOf(other, `begin; select ${CURRENT}`);
      if (inTransaction?.setting === token) return true;
      const [now] = await rowsOf(session, `select ${CURRENT}`);
      if (now?.setting !== token || now.backend !== first?.backend) return true;
      await other.query('rollback');
    }
    return false;
  } catch (error) {
    throw asStoreError(error);
  } finally {
    // Does not wait for the end: an unresponsive server would not confirm it either.
    for (const client of [session, other]) client.end().catch(() => undefined);
  }
}

const BACKEND = 'pg_backend_pid() as backend';
const CURRENT = `current_setting('${SETTING}', true) as setting, ${BACKEND}`;

function clientOf(url: string): pg.Client {
  return new GuardedClient({
    connectionString: url,
    application_name: 'inference-gateway',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
  });
}

interface Session {
  readonly setting: string | null;
  readonly backend: number;
}

/** Returns the last statement's rows, by simple queries: some poolers break prepared ones. */
async function rowsOf(client: pg.Client, text: string): Promise<readonly Session[]> {
  const results = (await client.query(text)) as pg.QueryResult<Session> | pg.QueryResult<Session>[];
  return (Array.isArray(results) ? results.at(-1) : results)?.rows ?? [];
}

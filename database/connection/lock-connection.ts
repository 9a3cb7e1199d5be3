import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { MEMORY_MODE_LOCK } from './advisory-locks.ts';
import { GuardedClient, NO_SESSION_LIMITS, REFUSE_READ_ONLY } from './connection-pool.ts';
import { CALLER_CHANGED } from './in-force.ts';
import { asStoreError } from './unavailable.ts';

/** Longest wait for a reply on the connection with the lock on limits (memory-mode-lock.ts). */
export const ANSWER_MS = 2_000;
/** Attempts to get the lock: PostgreSQL releases that of a killed process with a delay. */
export const TAKE_TRIES = 15;
export const RETRY_MS = 100;
/** Detects a dead connection after 25 s. By default a lost machine keeps its lock for two hours. */
const GONE_AFTER_25_S = 'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3';

export type Mode = 'memory' | 'shared';

const TRY_LOCK: Readonly<Record<Mode, string>> = {
  memory: 'select pg_try_advisory_lock($1) as locked',
  shared: 'select pg_try_advisory_lock_shared($1) as locked',
};
const UNLOCK: Readonly<Record<Mode, string>> = {
  memory: 'select pg_advisory_unlock($1)',
  shared: 'select pg_advisory_unlock_shared($1)',
};

export async function connect(url: string): Promise<pg.Client> {
  const client = new GuardedClient({
    connectionString: url,
    application_name: 'inference-gateway memory-mode lock',
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
  });
  try {
    await client.connect();
    // Refuses a standby: a lock there would not exclude processes that use the primary.
    await client.query(`${REFUSE_READ_ONLY}; ${NO_SESSION_LIMITS}; ${GONE_AFTER_25_S}; listen ${CALLER_CHANGED}`);
  } catch (error) {
    abandon(client);
    throw asStoreError(error);
  }
  return client;
}

export async function tryLock(client: pg.Client, mode: Mode, tries: number): Promise<boolean> {
  for (let left = tries; left > 0; left--) {
    const [row] = await query<{ locked: boolean }>(client, TRY_LOCK[mode], [MEMORY_MODE_LOCK]);
    if (row?.locked === true) return true;
    if (left > 1) await sleep(RETRY_MS);
  }
  return false;
}

export async function query<R extends object>(client: pg.Client, text: string, values: unknown[]): Promise<R[]> {
  try {
    return (await client.query<R>(text, values)).rows;
  } catch (error) {
    throw asStoreError(error);
  }
}

/** Closes the connection without waiting for a reply. */
export function abandon(client: pg.Client): void {
  client.end().catch(() => undefined);
}

export async function unlock(client: pg.Client, mode: Mode): Promise<void> {
  await query(client, UNLOCK[mode], [MEMORY_MODE_LOCK]);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { MEMORY_MODE_LOCK } from './advisory-locks.ts';
import { GuardedClient, NO_SESSION_LIMITS, only, REFUSE_READ_ONLY, run, sql } from './connection-pool.ts';
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

const TRY_LOCK = {
  memory: sql('try_memory_lock')`select pg_try_advisory_lock(${MEMORY_MODE_LOCK}) as locked`,
  shared: sql('try_shared_lock')`select pg_try_advisory_lock_shared(${MEMORY_MODE_LOCK}) as locked`,
};
const UNLOCK = {
  memory: sql('memory_unlock')`select pg_advisory_unlock(${MEMORY_MODE_LOCK})`,
  shared: sql('shared_unlock')`select pg_advisory_unlock_shared(${MEMORY_MODE_LOCK})`,
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
    if ((await only<{ locked: boolean }>(client, TRY_LOCK[mode], [])).locked) return true;
    if (left > 1) await sleep(RETRY_MS);
  }
  return false;
}

/** Closes the connection without waiting for a reply. */
export function abandon(client: pg.Client): void {
  client.end().catch(() => undefined);
}

export async function unlock(client: pg.Client, mode: Mode): Promise<void> {
  await run(client, UNLOCK[mode], []);
}

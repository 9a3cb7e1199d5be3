import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { StoreLog } from '../connection/connection-pool.ts';
import {
  ANSWER_MS,
  abandon,
  connect,
  type Mode,
  query,
  RETRY_MS,
  tryLock,
  unlock,
} from '../connection/lock-connection.ts';
import { isOwner, OWNED_BY_ANOTHER, type Owner, readOwner } from './limits-owner.ts';
import type { ReadFences } from './shard-fences.ts';

export interface LockKeeper {
  /** Reports that another process keeps the limits now, unless the lock was released. */
  takenOver(reason: string): void;
  /** Releases the lock. `last`: a statement to run before, unless the connection is lost. */
  release(last?: LastStatement): Promise<void>;
}

export interface LastStatement {
  readonly text: string;
  readonly values: unknown[];
}

export interface LockKeeperOptions {
  readonly url: string;
  readonly mode: Mode;
  /** Owner in the database as long as no other process has taken over. */
  readonly owner: Owner;
  readonly fences: Pick<ReadFences, 'observe'>;
  readonly onTakenOver: (reason: string) => void;
  readonly log: StoreLog;
}

/** Detects dead connections, and newer owners and fences while no request reads them. */
const HEARTBEAT_MS = 5_000;
const REGAIN_EVERY_MS = 5 * RETRY_MS;
/** Replies to wait for: connect, settings, lock, owner. */
const REGAIN_ANSWERS = 4;
/**
 * An owner that reaches PostgreSQL notices its successor within this time. In the worst case its
 * connection died just after a heartbeat, the next heartbeat is not answered, and a new connection
 * takes as long as it may.
 */
export const NOTICED_WITHIN_MS = HEARTBEAT_MS + ANSWER_MS + REGAIN_EVERY_MS + REGAIN_ANSWERS * ANSWER_MS;

/**
 * Keeps a lock with the connection that took it. If the connection is lost, takes the lock again in
 * the background, unless another owner has come.
 */
export function keepLock(taken: pg.Client, options: LockKeeperOptions): LockKeeper {
  const { url, mode, owner, fences, onTakenOver, log } = options;
  let client: pg.Client | undefined;
  let released = false;
  let heartbeat: NodeJS.Timeout | undefined;

  function keep(connection: pg.Client): void {
    client = connection;
    const lost = () => {
      if (client !== connection || released) return;
      client = undefined;
      clearInterval(heartbeat);
      log.warn({}, 'the connection that holds the memory-mode lock was lost');
      void regain();
    };
    connection.on('error', lost);
    connection.on('end', lost);
    heartbeat = setInterval(() => {
      readOwner(connection, fences).then(
        (row) => {
          if (row && !isOwner(owner, row)) takenOver(OWNED_BY_ANOTHER);
        },
        () => {
          lost();
          abandon(connection);
        },
      );
    }, HEARTBEAT_MS);
    heartbeat.unref();
  }

  async function regain(): Promise<void> {
    while (!released) {
      let connection: pg.Client | undefined;
      try {
        connection = await connect(url);
        const locked = await tryLock(connection, mode, 1);
        const row = await readOwner(connection, fences);
        if (row === undefined || !isOwner(owner, row)) {
          abandon(connection);
          return takenOver(OWNED_BY_ANOTHER);
        }
        if (locked && !released) {
          log.info({}, 'the memory-mode lock is held again');
          return keep(connection);
        }
      } catch (error) {
        log.warn({ error: String(error) }, 'the memory-mode lock could not be taken again yet');
      }
      if (connection) abandon(connection);
      await sleep(REGAIN_EVERY_MS, undefined, { ref: false });
    }
  }

  function takenOver(reason: string): void {
    if (!released) onTakenOver(reason);
  }

  async function release(last?: LastStatement): Promise<void> {
    released = true;
    clearInterval(heartbeat);
    const connection = client;
    client = undefined;
    if (!connection) return;
    try {
      if (last) await query(connection, last.text, last.values);
      await unlock(connection, mode);
    } catch (error) {
      log.warn({ error: String(error) }, 'the memory-mode lock goes with its connection');
    }
    abandon(connection);
  }

  keep(taken);
  return { takenOver, release };
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { SharedStore } from '../shared-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { StoreLog } from './connection-pool.ts';
import { abandon, connect, type Mode, query, RETRY_MS, TAKE_TRIES, tryLock, unlock } from './lock-connection.ts';
import { leaveSharedMark, SHARED_MARK } from './shared-store-mark.ts';

export type MemoryModeLock =
  | { readonly kind: 'held'; release(): Promise<void> }
  | { readonly kind: 'refused'; readonly message: string };

/** Together longer than a charge may take (`stores.postgres_timeouts.statement`), each less than an answer may. */
const CHARGE_MS = 1_500;
const CHARGE_TRIES = 4;
/** Finds connections that died without a word. */
const HEARTBEAT_MS = 5_000;

const REFUSED =
  'Another gateway process already keeps the limits of this database, in its memory or in Redis. Stop it, or give all of them one redis:// store.';

/** Who keeps the limits of a database. */
export interface Owner {
  readonly memoryOwner: string;
  /** The name of the store that is shared. */
  readonly limitStore?: string;
}

export interface OwnerRow {
  readonly memory_owner: string | null;
  readonly limit_store: string | null;
}

export function isOwner({ memoryOwner, limitStore }: Owner, row: OwnerRow): boolean {
  return row.memory_owner === memoryOwner && (limitStore === undefined || row.limit_store === limitStore);
}

/**
 * Two memories on one database would both admit against the same balance. An advisory lock on its own connection lets only one process in,
 * or any number of processes that share one store (shared-store-mark.ts).
 * The lock can be lost without a crash (PostgreSQL restarts), so whoever takes it also writes its mark into the database, and authentication
 * reads the mark with every request (key-lookup.ts): from the commit of a new mark on, the former owner admits nothing, whatever it knows.
 * Losing the connection alone is therefore harmless, and the lock is taken again in the background.
 */
export function createMemoryModeLock(url: string, log: StoreLog) {
  let owner: Owner | undefined;
  let mode: Mode = 'memory';
  let client: pg.Client | undefined;
  let released = false;
  let heartbeat: NodeJS.Timeout | undefined;

  async function take(onTakenOver: (reason: string) => void): Promise<MemoryModeLock> {
    const mark = randomUUID();
    const connection = await connect(url);
    try {
      if (!(await tryLock(connection, mode, TAKE_TRIES))) {
        abandon(connection);
        return { kind: 'refused', message: REFUSED };
      }
      await query(connection, 'update ledger_state set memory_owner = $1', [mark]);
      await outwaitCharges(connection);
    } catch (error) {
      abandon(connection);
      throw error;
    }
    owner = { memoryOwner: mark };
    keep(connection, owner, onTakenOver);
    return { kind: 'held', release };
  }

  async function share(store: SharedStore, onTakenOver: (reason: string) => void): Promise<MemoryModeLock> {
    mode = 'shared';
    const connection = await connect(url);
    try {
      const left = await leaveSharedMark(connection, store);
      if (left.kind === 'refused') {
        abandon(connection);
        return left;
      }
      owner = { memoryOwner: SHARED_MARK, limitStore: left.name };
      store.keepName(left.name, () => {
        if (!released) onTakenOver('What is reached as Redis now is another one than before.');
      });
    } catch (error) {
      abandon(connection);
      throw error;
    }
    keep(connection, owner, onTakenOver);
    return { kind: 'held', release };
  }

  function keep(connection: pg.Client, mark: Owner, onTakenOver: (reason: string) => void): void {
    client = connection;
    const lost = () => {
      if (client !== connection || released) return;
      client = undefined;
      clearInterval(heartbeat);
      log.warn({}, 'the connection that holds the memory-mode lock was lost');
      void regain(mark, onTakenOver);
    };
    connection.on('error', lost);
    connection.on('end', lost);
    heartbeat = setInterval(() => {
      connection.query('select 1').catch(() => {
        lost();
        abandon(connection);
      });
    }, HEARTBEAT_MS);
    heartbeat.unref();
  }

  async function regain(mark: Owner, onTakenOver: (reason: string) => void): Promise<void> {
    while (!released) {
      let connection: pg.Client | undefined;
      try {
        connection = await connect(url);
        const locked = await tryLock(connection, mode, 1);
        const [row] = await query<OwnerRow>(connection, 'select memory_owner, limit_store from ledger_state', []);
        if (row === undefined || !isOwner(mark, row)) {
          abandon(connection);
          if (!released) onTakenOver(REFUSED);
          return;
        }
        if (locked && !released) {
          log.info({}, 'the memory-mode lock is held again');
          keep(connection, mark, onTakenOver);
          return;
        }
      } catch (error) {
        log.warn({ error: String(error) }, 'the memory-mode lock could not be taken again yet');
      }
      if (connection) abandon(connection);
      await sleep(RETRY_MS * 5, undefined, { ref: false });
    }
  }

  async function release(): Promise<void> {
    released = true;
    clearInterval(heartbeat);
    const connection = client;
    client = undefined;
    if (!connection) return;
    try {
      await unlock(connection, mode);
    } catch (error) {
      log.warn({ error: String(error) }, 'the memory-mode lock goes with its connection');
    }
    abandon(connection);
  }

  return { take, share, release, owner: () => owner };
}

/**
 * PostgreSQL finishes a charge that a process had sent when it was killed, and the memory that begins here knows no hold for it: a snapshot
 * that was read just before would be believed without it. So nothing is read before charges under way have ended; they lock accounts.
 */
async function outwaitCharges(connection: pg.Client): Promise<void> {
  await query(connection, `set lock_timeout = '${CHARGE_MS}ms'`, []);
  for (let tries = 1; ; tries++) {
    try {
      await query(connection, 'select outwait_settlements()', []);
      return;
    } catch (error) {
      if (tries === CHARGE_TRIES) throw new StoreUnavailable('charges of another process do not end', { cause: error });
    }
  }
}

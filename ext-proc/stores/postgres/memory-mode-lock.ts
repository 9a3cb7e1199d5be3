import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { ReadFences } from '../shard-fences.ts';
import type { SharedStore } from '../shared-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { StoreLog } from './connection-pool.ts';
import { type KeptLock, keepLock } from './kept-lock.ts';
import { OWNED_BY_ANOTHER, type Owner } from './limits-owner.ts';
import { abandon, connect, query, TAKE_TRIES, tryLock } from './lock-connection.ts';
import { leaveSharedMark, SHARED_MARK } from './shared-store-mark.ts';

export type MemoryModeLock =
  | { readonly kind: 'held'; release(): Promise<void> }
  | { readonly kind: 'refused'; readonly message: string };

/** Together longer than a charge may take (`stores.postgres_timeouts.statement`), each less than an answer may. */
const CHARGE_MS = 1_500;
const CHARGE_TRIES = 4;

/**
 * Two memories on one database would both admit against the same balance. An advisory lock on its own connection lets only one process in,
 * or any number of processes that share one store (shared-store-mark.ts).
 * The lock can be lost without a crash (PostgreSQL restarts), so whoever takes it also writes its mark into the database, and authentication
 * reads the mark with every request (key-lookup.ts): from the commit of a new mark on, the former owner admits nothing, whatever it knows.
 * Losing the connection alone is therefore harmless, and the lock is taken again in the background (kept-lock.ts).
 */
export function createMemoryModeLock(url: string, fences: Pick<ReadFences, 'observe'>, log: StoreLog) {
  let owner: Owner | undefined;
  let kept: KeptLock | undefined;
  const release = async (): Promise<void> => kept?.release();

  async function take(onTakenOver: (reason: string) => void): Promise<MemoryModeLock> {
    const mark = randomUUID();
    const connection = await connect(url);
    try {
      if (!(await tryLock(connection, 'memory', TAKE_TRIES))) {
        abandon(connection);
        return { kind: 'refused', message: OWNED_BY_ANOTHER };
      }
      await query(connection, 'update ledger_state set memory_owner = $1', [mark]);
      await outwaitCharges(connection);
    } catch (error) {
      abandon(connection);
      throw error;
    }
    owner = { memoryOwner: mark };
    kept = keepLock(connection, { url, mode: 'memory', owner, fences, onTakenOver, log });
    return { kind: 'held', release };
  }

  async function share(store: SharedStore, onTakenOver: (reason: string) => void): Promise<MemoryModeLock> {
    const connection = await connect(url);
    const left = await leaveSharedMark(connection, store, fences).catch((error: unknown) => {
      abandon(connection);
      throw error;
    });
    if (left.kind === 'refused') {
      abandon(connection);
      return left;
    }
    owner = { memoryOwner: SHARED_MARK, limitStore: left.name };
    const lock = keepLock(connection, { url, mode: 'shared', owner, fences, onTakenOver, log });
    kept = lock;
    store.keepName(left.name, () => lock.takenOver('What is reached as Redis now is another one than before.'));
    return { kind: 'held', release };
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

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { run, sql } from '../connection/connection-pool.ts';
import { RETRY_MS, TAKE_TRIES, tryLock, unlock } from '../connection/lock-connection.ts';
import { type OwnerRow, readOwner } from './limits-owner.ts';
import type { ReadFences } from './shard-fences.ts';
import type { SharedStore } from './shared-store.ts';

/** Mark of all processes with limits in Redis. `limit_store` in the same row names the Redis. */
export const SHARED_MARK = '00000000-0000-0000-0000-000000000000';

const REFUSED_TO_SHARE =
  'Another gateway process keeps the limits of this database in its memory. Stop it before others keep them in Redis.';
const REFUSED_OTHER_STORE =
  'Other gateway processes keep the limits of this database in another Redis than this one. Give all of them the same; to change it, stop all of them first.';

const LOOK_AGAIN_MS = 500;

export type LeftMark =
  | { readonly kind: 'left'; readonly name: string }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Takes the shared lock and writes the mark of this store. Two stores on one database would both
 * admit against the same balance, so the row also has the store's name. The name changes only under
 * the exclusive lock, when no process uses the former store any more.
 */
export async function leaveSharedMark(
  connection: pg.Client,
  store: SharedStore,
  fences: Pick<ReadFences, 'observe'>,
): Promise<LeftMark> {
  if (!(await tryLock(connection, 'shared', TAKE_TRIES))) return { kind: 'refused', message: REFUSED_TO_SHARE };
  const deadlineMs = performance.now() + store.renamedWithinMs;
  while (performance.now() < deadlineMs) {
    const row = await readOwner(connection, fences);
    const known = row.memory_owner === SHARED_MARK ? row.limit_store : null;
    if (known === null) {
      const name = await firstMark(connection, store, row);
      if (name !== undefined) return { kind: 'left', name };
    } else if ((await store.name()) === known) {
      return { kind: 'left', name: known };
    } else {
      await unlock(connection, 'shared');
      const alone = await tryLock(connection, 'memory', 1);
      if (!alone) await sleep(LOOK_AGAIN_MS + Math.random() * RETRY_MS);
      if (!(await tryLock(connection, 'shared', TAKE_TRIES))) return { kind: 'refused', message: REFUSED_TO_SHARE };
      if (alone) {
        await renameStore(connection, store);
        await unlock(connection, 'memory');
      }
    }
  }
  return { kind: 'refused', message: REFUSED_OTHER_STORE };
}

const LEAVE_MARK = sql('leave_shared_mark')`
  update ledger_state set memory_owner = $1, limit_store = $2
    where memory_owner is not distinct from $3::uuid and limit_store is not distinct from $4 returning 1`;

/**
 * Writes the first mark of this store. Its state may be from before a time in which another process
 * kept the limits in memory, so it starts over before the mark makes it the owner. Without a mark,
 * either nothing was ever admitted on this database, or the memory store left with nothing held.
 * Then the one process whose update succeeds knows that nothing is held, and opens the store
 * immediately.
 */
async function firstMark(connection: pg.Client, store: SharedStore, before: OwnerRow): Promise<string | undefined> {
  const beginning = await store.startOver();
  const name = await store.name(randomUUID());
  const changed = await run(connection, LEAVE_MARK, [SHARED_MARK, name, before.memory_owner, before.limit_store]);
  if (changed.length === 0) return undefined;
  if (before.memory_owner === null) await beginning.open();
  return name;
}

/**
 * Gives the store a new name. Owners of holds in the former store have ended, but their last
 * charges may not be committed yet. So the store starts over and waits one lease.
 */
async function renameStore(connection: pg.Client, store: SharedStore): Promise<void> {
  const name = await store.name(randomUUID());
  await store.startOver();
  await run(connection, { text: 'update ledger_state set limit_store = $1' }, [name]);
}

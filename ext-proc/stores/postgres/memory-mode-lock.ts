import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { StoreUnavailable } from '../store-unavailable.ts';
import { MEMORY_MODE_LOCK } from './advisory-locks.ts';
import { REFUSE_READ_ONLY, type StoreLog } from './connection-pool.ts';
import { asStoreError } from './unavailable.ts';

export type MemoryModeLock =
  | { readonly kind: 'held'; release(): Promise<void> }
  | { readonly kind: 'refused'; readonly message: string };

const ANSWER_MS = 2_000;
/** A process that was just killed keeps the lock until PostgreSQL notices: its successor waits that long before it gives up. */
const TAKE_TRIES = 15;
const RETRY_MS = 100;
/** Together longer than a charge may take (`stores.postgres_timeouts.statement`), each less than an answer may. */
const CHARGE_MS = 1_500;
const CHARGE_TRIES = 4;
/** Finds connections that died without a word. */
const HEARTBEAT_MS = 5_000;

const REFUSED =
  'Another gateway process already keeps the limits of this database, in its memory or in Redis. Stop it, or give all of them one redis:// store.';
const REFUSED_TO_SHARE =
  'Another gateway process keeps the limits of this database in its memory. Stop it before others keep them in Redis.';

/** The mark of every process whose limits are in Redis. */
const SHARED_MARK = '00000000-0000-0000-0000-000000000000';

type Mode = 'memory' | 'shared';

const TRY_LOCK: Readonly<Record<Mode, string>> = {
  memory: 'select pg_try_advisory_lock($1) as locked',
  shared: 'select pg_try_advisory_lock_shared($1) as locked',
};
const UNLOCK: Readonly<Record<Mode, string>> = {
  memory: 'select pg_advisory_unlock($1)',
  shared: 'select pg_advisory_unlock_shared($1)',
};

/** A store that others share, and that may remember what is no longer so. */
export interface SharedStore {
  /** Makes it forget everything, and admit nothing until whatever is held elsewhere has ended. */
  beginAnew(): Promise<{
    /** Nothing is held anywhere: it need not wait. */
    open(): Promise<void>;
  }>;
}

/**
 * Two memories on one database would both admit against the same balance. An advisory lock on its own connection lets only one process in,
 * or any number of processes that share one store.
 * The lock can be lost without a crash (PostgreSQL restarts), so whoever takes it also writes its mark into the database, and authentication
 * reads the mark with every request (key-lookup.ts): from the commit of a new mark on, the former owner admits nothing, whatever it knows.
 * Losing the connection alone is therefore harmless, and the lock is taken again in the background.
 */
export function createMemoryModeLock(url: string, log: StoreLog) {
  let owner: string | undefined;
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
    owner = mark;
    keep(connection, mark, onTakenOver);
    return { kind: 'held', release };
  }

  async function share(store: SharedStore, onTakenOver: (reason: string) => void): Promise<MemoryModeLock> {
    mode = 'shared';
    const connection = await connect(url);
    try {
      if (!(await tryLock(connection, mode, TAKE_TRIES))) {
        abandon(connection);
        return { kind: 'refused', message: REFUSED_TO_SHARE };
      }
      await leaveSharedMark(connection, store);
    } catch (error) {
      abandon(connection);
      throw error;
    }
    owner = SHARED_MARK;
    keep(connection, SHARED_MARK, onTakenOver);
    return { kind: 'held', release };
  }

  function keep(connection: pg.Client, mark: string, onTakenOver: (reason: string) => void): void {
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

  async function regain(mark: string, onTakenOver: (reason: string) => void): Promise<void> {
    while (!released) {
      let connection: pg.Client | undefined;
      try {
        connection = await connect(url);
        const locked = await tryLock(connection, mode, 1);
        const [row] = await query<{ memory_owner: string | null }>(
          connection,
          'select memory_owner from ledger_state',
          [],
        );
        if (row?.memory_owner !== mark) {
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
      await query(connection, UNLOCK[mode], [MEMORY_MODE_LOCK]);
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

/**
 * The store may remember a time before somebody else's memory kept the limits: charges of that time are unknown to it, and what was held there
 * may not have ended. So it begins anew before the mark says that it counts. Where there is no mark yet, nothing was ever admitted on this
 * database: whoever changes that (one statement, so only one does) knows that nothing is held.
 */
async function leaveSharedMark(connection: pg.Client, store: SharedStore): Promise<void> {
  for (let tries = 0; tries < TAKE_TRIES; tries++) {
    const [row] = await query<{ memory_owner: string | null }>(connection, 'select memory_owner from ledger_state', []);
    const before = row?.memory_owner ?? null;
    if (before === SHARED_MARK) return;
    const beginning = await store.beginAnew();
    const changed = await query(
      connection,
      'update ledger_state set memory_owner = $1 where memory_owner is not distinct from $2::uuid returning 1',
      [SHARED_MARK, before],
    );
    if (changed.length === 0) continue;
    if (before === null) await beginning.open();
    return;
  }
  throw new StoreUnavailable('the mark of the limit store in the database does not come to rest');
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'inference-gateway memory-mode lock',
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
  });
  // Without a listener an error on an idle connection would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    // A lock that is held on a standby keeps nobody from the primary.
    await client.query(REFUSE_READ_ONLY);
  } catch (error) {
    abandon(client);
    throw asStoreError(error);
  }
  return client;
}

async function tryLock(client: pg.Client, mode: Mode, tries: number): Promise<boolean> {
  for (let left = tries; left > 0; left--) {
    const [row] = await query<{ locked: boolean }>(client, TRY_LOCK[mode], [MEMORY_MODE_LOCK]);
    if (row?.locked === true) return true;
    if (left > 1) await sleep(RETRY_MS);
  }
  return false;
}

async function query<R extends object>(client: pg.Client, text: string, values: unknown[]): Promise<R[]> {
  try {
    return (await client.query<R>(text, values)).rows;
  } catch (error) {
    throw asStoreError(error);
  }
}

/** Closes without waiting for an answer that may never come. */
function abandon(client: pg.Client): void {
  client.end().catch(() => undefined);
}

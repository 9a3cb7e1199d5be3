import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { run, type Timeouts } from '../connection/connection-pool.ts';
import { abandon, connect, type Mode, TAKE_TRIES, tryLock } from '../connection/lock-connection.ts';
import { OWNED_BY_ANOTHER, type Owner, readOwner } from './limits-owner.ts';
import { LockKeeper, type LockKeeperOptions, NOTICED_WITHIN_MS } from './lock-keeper.ts';
import type { SharedStore } from './shared-store.ts';
import { leaveSharedMark, SHARED_MARK } from './shared-store-mark.ts';
import { readVolumeMarks, writeVolumeMarks } from './volume-marks.ts';

export type SharedModeLock = { readonly kind: 'held' } | LockRefused;

export type MemoryModeLock = HeldMemoryModeLock | LockRefused;

export interface HeldMemoryModeLock {
  readonly kind: 'held';
  /**
   * Time on the monotonic clock until which the former owner may still admit and charge, because it
   * may not have noticed this owner. If it is in the past, no other process may.
   */
  readonly opensAtMs: number;
  /** Releases the lock once nothing is held or left to charge: the next process need not wait. */
  leave(): Promise<void>;
}

export interface LockRefused {
  readonly kind: 'refused';
  readonly message: string;
}

export interface LimitsLockOptions extends Pick<LockKeeperOptions, 'url' | 'fences' | 'subscription' | 'log'> {
  /** The timeouts with which this process commits charges. */
  readonly timeouts: Timeouts;
}

/** Time to cancel requests in flight and to count their output. */
const CUT_MS = 2_000;
/** Commits to wait for: the batch in flight and the next one. */
const COMMITS = 2;

const CLEAR_MARK = 'update ledger_state set memory_owner = null where memory_owner = $1';

/**
 * Time and number of attempts to wait for charges in flight. Together they exceed the longest
 * charge (`stores.postgres_timeouts.statement`). Each attempt is shorter than the limit of a reply.
 */
const CHARGE_MS = 1_500;
const CHARGE_TRIES = 4;

/**
 * Ensures that only one limit store admits on a database. An advisory lock on a connection of its
 * own allows one process with limits in memory, or any number of processes that share a store
 * (shared-store-mark.ts). The lock can be lost without a crash, for example if PostgreSQL restarts.
 * So the process also writes its mark into the database, and reads the current mark with every
 * caller (key-lookup.ts) and with every proof for cached callers (caller-subscription.ts). Thus the
 * former owner admits nothing from 250 ms after the commit of a new mark, and losing the connection
 * alone is harmless: the lock is taken again in the background (lock-keeper.ts). But the former
 * owner may still charge earlier admissions until it notices the mark, so a process that takes over
 * admits nothing for that time. It need not wait if the former owner left (`leave`), or ran on this
 * volume: here it has the lock on the charge log (charge-log/worker-lock.ts), which is free only
 * after the former owner has ended, and it charges the log's content before it admits.
 */
export class LimitsLock {
  readonly #options: LimitsLockOptions;
  #owner: Owner | undefined;
  #keeper: LockKeeper | undefined;

  constructor(options: LimitsLockOptions) {
    this.#options = options;
  }

  /** This process, or its shared store, as the owner. `undefined`: the lock is not taken yet. */
  owner(): Owner | undefined {
    return this.#owner;
  }

  async release(): Promise<void> {
    await this.#keeper?.release();
  }

  /**
   * Takes the lock for limits in memory. `marksPath` is a file beside the charge log
   * (volume-marks.ts). Rejects with StoreUnavailable, or if the file cannot be written.
   */
  async take(marksPath: string, onTakenOver: (reason: string) => void): Promise<MemoryModeLock> {
    const { url, fences } = this.#options;
    const mark = randomUUID();
    let waitMs = 0;
    let opensAtMs = 0;
    const connection = await connect(url);
    try {
      if (!(await tryLock(connection, 'memory', TAKE_TRIES))) {
        abandon(connection);
        return { kind: 'refused', message: OWNED_BY_ANOTHER };
      }
      const former = (await readOwner(connection, fences)).memory_owner ?? undefined;
      const own = await readVolumeMarks(marksPath);
      const isSuccessorHere = former !== undefined && own.marks.includes(former);
      waitMs = former === undefined || (isSuccessorHere && own.hasWaited) ? 0 : this.#formerLeavesMs();
      // Written before the update in PostgreSQL, so that the next process on this volume knows the
      // mark, no matter when this one ends.
      await writeVolumeMarks(marksPath, { marks: isSuccessorHere ? [former, mark] : [mark], hasWaited: waitMs === 0 });
      await run(connection, { text: 'update ledger_state set memory_owner = $1' }, [mark]);
      opensAtMs = performance.now() + waitMs;
      await outwaitCharges(connection);
    } catch (error) {
      abandon(connection);
      throw error;
    }
    const keeper = this.#keep(connection, 'memory', { memoryOwner: mark }, onTakenOver);
    if (waitMs > 0) this.#rememberLater(marksPath, mark, opensAtMs);
    return {
      kind: 'held',
      opensAtMs,
      // A process that ends before `opensAtMs` leaves its mark, so that its successor waits as
      // well.
      leave: () => keeper.release(performance.now() < opensAtMs ? undefined : { text: CLEAR_MARK, values: [mark] }),
    };
  }

  /** Takes the lock for a shared store. Rejects with StoreUnavailable. */
  async share(store: SharedStore, onTakenOver: (reason: string) => void): Promise<SharedModeLock> {
    const { url, fences } = this.#options;
    const connection = await connect(url);
    const left = await leaveSharedMark(connection, store, fences).catch((error: unknown) => {
      abandon(connection);
      throw error;
    });
    if (left.kind === 'refused') {
      abandon(connection);
      return left;
    }
    const owner = { memoryOwner: SHARED_MARK, limitStore: left.name };
    const keeper = this.#keep(connection, 'shared', owner, onTakenOver);
    store.keepName(left.name, () => keeper.takenOver('What is reached as Redis now is another one than before.'));
    return { kind: 'held' };
  }

  #keep(connection: pg.Client, mode: Mode, owner: Owner, onTakenOver: (reason: string) => void): LockKeeper {
    const { url, fences, subscription, log } = this.#options;
    this.#owner = owner;
    this.#keeper = new LockKeeper(connection, { url, mode, owner, fences, subscription, onTakenOver, log });
    return this.#keeper;
  }

  /** Longest time for which a former owner may still charge. */
  #formerLeavesMs(): number {
    const { connectMs, statementMs } = this.#options.timeouts;
    return NOTICED_WITHIN_MS + CUT_MS + connectMs + COMMITS * statementMs;
  }

  #rememberLater(marksPath: string, mark: string, atMs: number): void {
    const remember = () =>
      writeVolumeMarks(marksPath, { marks: [mark], hasWaited: true }).catch((error: unknown) =>
        this.#options.log.warn(
          { err: error },
          'the mark of who keeps the limits cannot be written: the next start waits again',
        ),
      );
    setTimeout(remember, Math.ceil(atMs - performance.now())).unref();
  }
}

/**
 * Waits until charges in flight, which lock accounts, have ended. PostgreSQL finishes a charge even
 * if its process was killed, and the new store has no hold for it. A snapshot read just before its
 * commit would be trusted without the charge.
 */
async function outwaitCharges(connection: pg.Client): Promise<void> {
  await run(connection, { text: `set lock_timeout = '${CHARGE_MS}ms'` }, []);
  for (let tries = 1; ; tries++) {
    try {
      await run(connection, { text: 'select outwait_settlements()' }, []);
      return;
    } catch (error) {
      if (tries === CHARGE_TRIES) throw new StoreUnavailable('charges of another process do not end', { cause: error });
    }
  }
}

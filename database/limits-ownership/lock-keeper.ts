import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { run, type StoreLog } from '../connection/connection-pool.ts';
import { ANSWER_MS, abandon, connect, type Mode, RETRY_MS, tryLock, unlock } from '../connection/lock-connection.ts';
import type { CallerSubscription } from './caller-subscription.ts';
import { isOwner, OWNED_BY_ANOTHER, type Owner, readOwner } from './limits-owner.ts';
import type { ReadFences } from './shard-fences.ts';

export interface LastStatement {
  readonly text: string;
  readonly values: unknown[];
}

export interface LockKeeperOptions {
  readonly url: string;
  readonly mode: Mode;
  /** The owner that the database names until another process takes over. */
  readonly owner: Owner;
  readonly fences: Pick<ReadFences, 'observe'>;
  /** The subscription to changes of callers, on the lock's connection. */
  readonly subscription: CallerSubscription;
  readonly onTakenOver: (reason: string) => void;
  readonly log: StoreLog;
}

/** Interval of checks for dead connections, newer owners and fences while no request reads them. */
const HEARTBEAT_MS = 5_000;
const REGAIN_EVERY_MS = 5 * RETRY_MS;
/** Number of replies to wait for: connect, settings, lock, owner. */
const REGAIN_ANSWERS = 4;
/**
 * Time within which an owner that reaches PostgreSQL notices its successor. In the worst case its
 * connection dies just after a heartbeat, the next heartbeat times out, and the new connection
 * takes as long as it may.
 */
export const NOTICED_WITHIN_MS = HEARTBEAT_MS + ANSWER_MS + REGAIN_EVERY_MS + REGAIN_ANSWERS * ANSWER_MS;

/**
 * Keeps a lock with the connection that took it. If the connection is lost, takes the lock again in
 * the background, unless there is another owner by then.
 */
export class LockKeeper {
  readonly #options: LockKeeperOptions;
  /** The connection that holds the lock. */
  #client: pg.Client | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #released = false;

  constructor(taken: pg.Client, options: LockKeeperOptions) {
    this.#options = options;
    this.#keep(taken);
  }

  /** Reports that another process owns the limits now, unless the lock was released. */
  takenOver(reason: string): void {
    if (!this.#released) this.#options.onTakenOver(reason);
  }

  /** Releases the lock. `last`: a statement to run before that, unless the connection is lost. */
  async release(last?: LastStatement): Promise<void> {
    const { mode, log } = this.#options;
    this.#released = true;
    const connection = this.#client;
    this.#leave();
    if (!connection) return;
    try {
      if (last) await run(connection, last, last.values);
      await unlock(connection, mode);
    } catch (error) {
      log.warn({ error: String(error) }, 'the memory-mode lock goes with its connection');
    }
    abandon(connection);
  }

  #keep(connection: pg.Client): void {
    this.#client = connection;
    connection.on('error', () => this.#lost(connection));
    connection.on('end', () => this.#lost(connection));
    const look = () => this.#lookAtOwner(connection);
    this.#heartbeat = setInterval(look, HEARTBEAT_MS).unref();
    this.#options.subscription.begin(connection, look);
  }

  /** True if PostgreSQL replied and this process is the owner. */
  async #lookAtOwner(connection: pg.Client): Promise<boolean> {
    const { owner, fences } = this.#options;
    try {
      const isOurs = isOwner(owner, await readOwner(connection, fences));
      if (!isOurs) this.takenOver(OWNED_BY_ANOTHER);
      return isOurs;
    } catch {
      this.#lost(connection);
      abandon(connection);
      return false;
    }
  }

  #leave(): void {
    this.#client = undefined;
    clearInterval(this.#heartbeat);
    this.#options.subscription.end();
  }

  #lost(connection: pg.Client): void {
    if (this.#client !== connection || this.#released) return;
    this.#leave();
    this.#options.log.warn({}, 'the connection that holds the memory-mode lock was lost');
    void this.#regain();
  }

  async #regain(): Promise<void> {
    const { url, mode, owner, fences, log } = this.#options;
    while (!this.#released) {
      let connection: pg.Client | undefined;
      try {
        connection = await connect(url);
        const locked = await tryLock(connection, mode, 1);
        if (!isOwner(owner, await readOwner(connection, fences))) {
          abandon(connection);
          return this.takenOver(OWNED_BY_ANOTHER);
        }
        if (locked && !this.#released) {
          log.info({}, 'the memory-mode lock is held again');
          return this.#keep(connection);
        }
      } catch (error) {
        log.warn({ error: String(error) }, 'the memory-mode lock could not be taken again yet');
      }
      if (connection) abandon(connection);
      await sleep(REGAIN_EVERY_MS, undefined, { ref: false });
    }
  }
}

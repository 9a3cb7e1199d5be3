import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import { RAISING_KEY } from './redis-keys.ts';
import type { ScriptCalls } from './script-calls.ts';

export interface Shard {
  readonly key: string;
  readonly number: number;
}

export interface ShardFencingOptions {
  /** Groups of shards that one call may name. */
  readonly shardGroups: readonly (readonly Shard[])[];
  readonly leaseMs: number;
  readonly fences: ShardFences;
}

interface RaisedFences {
  /** In the order of the shards. '' for a shard that had a fence. */
  readonly incarnations: readonly string[];
  /** Fences by number of the shard. */
  readonly raised: ReadonlyMap<number, number>;
}

/** If a process ends before it has given its fences, others may raise theirs after this time. */
const RAISING_MS = 3_000;
const LOCK_AGAIN_MS = 50;

/**
 * Opens new incarnations: finds those without a fence, raises the fences of their shards in
 * PostgreSQL, and gives each its fence. A fence is given only to the incarnation that was found
 * before it was raised. A later incarnation gets a new one. So no two servers open a shard with the
 * same fence.
 */
export class ShardFencing {
  readonly #connection: ScriptCalls;
  readonly #options: ShardFencingOptions;
  readonly #owner = randomUUID();
  #fencing: Promise<void> | undefined;

  constructor(connection: ScriptCalls, options: ShardFencingOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** `clock`: as in ARGV of the scripts. Rejects with StoreUnavailable. */
  fence(clock: string): Promise<void> {
    this.#fencing ??= this.#fenceAll(clock).finally(() => {
      this.#fencing = undefined;
    });
    return this.#fencing;
  }

  async #fenceAll(clock: string): Promise<void> {
    // Without the lock: other processes are raising fences, and the next touch tries again.
    if (!(await this.#lockRaising())) return;
    try {
      await this.#raiseAndGive(clock);
    } finally {
      // A lock that cannot be released expires.
      await this.#connection.run('lockRaising', [RAISING_KEY], [this.#owner, 0]).catch(() => undefined);
    }
  }

  /** Waits for the lock, but no longer than the lock of a process that has ended lasts. */
  async #lockRaising(): Promise<boolean> {
    const deadlineMs = performance.now() + RAISING_MS + LOCK_AGAIN_MS;
    while (performance.now() < deadlineMs) {
      if ((await this.#connection.run('lockRaising', [RAISING_KEY], [this.#owner, RAISING_MS])) === 1) return true;
      await sleep(LOCK_AGAIN_MS);
    }
    return false;
  }

  async #raiseAndGive(clock: string): Promise<void> {
    const { shardGroups, fences } = this.#options;
    await fences.refresh();
    const found = await Promise.all(
      shardGroups.map(async (shards) => ({ shards, incarnations: await this.#giveFences(shards, clock) })),
    );
    const without = found.flatMap(({ shards, incarnations }) =>
      shards.filter((_, index) => incarnations[index] !== ''),
    );
    if (without.length === 0) return;
    const raised = await fences.raise(without.map(({ number }) => number));
    // Another process raised them first and gives them. If it fails, the next touch tries again.
    if (raised === undefined) return;
    const given = found.map(({ shards, incarnations }) => this.#giveFences(shards, clock, { incarnations, raised }));
    await Promise.all(given);
  }

  /**
   * Gives the raised fences to these incarnations. It gives no other fences, because one that was
   * read meanwhile may belong to another server. Returns the incarnations that still have none.
   */
  async #giveFences(shards: readonly Shard[], clock: string, toGive?: RaisedFences): Promise<string[]> {
    const { leaseMs, shardGroups } = this.#options;
    const given = shards.flatMap(({ number }, index) => {
      const fence = toGive?.raised.get(number);
      return fence === undefined ? ['', ''] : [toGive?.incarnations[index] ?? '', fence];
    });
    const keys = shards.map(({ key }) => key);
    try {
      return (await this.#connection.run('fenceShards', keys, [clock, leaseMs, ...given])) as string[];
    } catch (error) {
      // A master that does not answer gets its fences when it does, and the others get theirs now.
      if (error instanceof StoreUnavailable && shardGroups.length > 1) return shards.map(() => '');
      throw error;
    }
  }
}

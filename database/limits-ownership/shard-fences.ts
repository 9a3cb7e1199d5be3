import type pg from 'pg';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { only, run, sql } from '../connection/connection-pool.ts';

/**
 * Number of shards of Redis. Organizations are distributed over them by id. The shard's number is
 * the hash tag of its keys, so in a cluster a shard is one hash slot: one call can use all its
 * keys, and its marker is lost together with them. More shards than nodes spread the load. Each
 * costs one small key.
 */
export const SHARDS = 64;

/**
 * Fences: one number for each shard of a shared store, stored in PostgreSQL and raised for every
 * new incarnation of the shard. If two servers act as master, the real one has the newest fence.
 * Every process reads the fences with callers, and at least every 250 ms while there are requests.
 */
export interface ShardFences {
  /** Newest fence that this process has read. 0 before the first read. */
  of(shard: number): number;
  /** Increases whenever a newer fence is read. */
  revision(): number;
  /** Reads the fences from PostgreSQL. Rejects with StoreUnavailable. */
  refresh(): Promise<void>;
  /**
   * Raises the fences of these shards, unless some fence was raised since the last read. Resolves
   * with the new fences by shard. `undefined`: none was raised. Rejects with StoreUnavailable.
   */
  raise(shards: readonly number[]): Promise<ReadonlyMap<number, number> | undefined>;
}

/** The fences that this process has read, with the time of the last read. */
export interface ReadFences extends ShardFences {
  /** Merges fences that were read. `readAtMs`: start of the read, on the monotonic clock. */
  observe(written: string, readAtMs: number): void;
  /**
   * Calls back after a newer fence was read. `formerAtMs`: start of the last read that returned the
   * former fences, on the monotonic clock.
   */
  onNewer(newer: (formerAtMs: number) => void): void;
}

export interface FenceRow {
  /** Replaces the text if it is still `from`. False: it is not. Rejects with StoreUnavailable. */
  replace(from: string, to: string): Promise<boolean>;
  /** Rejects with StoreUnavailable. */
  read(): Promise<string>;
}

/** Encodes fences as text: one number for all shards, or one for each, separated by commas. */
export function createShardFences(row: FenceRow): ReadFences {
  let written = '0';
  let newest: readonly number[] = new Array<number>(SHARDS).fill(0);
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let revision = 0;
  let onNewerFence: ((formerAtMs: number) => void) | undefined;

  function parse(text: string): readonly number[] {
    const numbers = text.split(',').map(Number);
    const all = numbers.length === 1 ? new Array<number>(SHARDS).fill(numbers[0] ?? 0) : numbers;
    if (all.length !== SHARDS || !all.every(Number.isSafeInteger)) {
      throw new StoreUnavailable(`the fences in the database cannot be read: ${text.slice(0, 100)}`);
    }
    return all;
  }

  /** Keeps each shard's newest fence: reads may be disordered, a restored database older. */
  function observe(text: string, readAtMs: number): void {
    if (text !== written) {
      const read = parse(text);
      const merged = newest.map((fence, shard) => Math.max(fence, read[shard] ?? 0));
      if (merged.some((fence, shard) => fence > (newest[shard] ?? 0))) {
        newest = merged;
        revision++;
        onNewerFence?.(confirmedAtMs);
      }
      written = text;
    }
    confirmedAtMs = Math.max(confirmedAtMs, readAtMs);
  }

  async function raise(shards: readonly number[]): Promise<ReadonlyMap<number, number> | undefined> {
    const from = written;
    const raised = new Map(shards.map((shard) => [shard, (newest[shard] ?? 0) + 1]));
    const to = newest.map((fence, shard) => raised.get(shard) ?? fence);
    const text = new Set(to).size === 1 ? String(to[0]) : to.join(',');
    const readAtMs = performance.now();
    if (!(await row.replace(from, text))) return undefined;
    observe(text, readAtMs);
    return raised;
  }

  async function refresh(): Promise<void> {
    const readAtMs = performance.now();
    observe(await row.read(), readAtMs);
  }

  return {
    of: (shard) => newest[shard] ?? 0,
    revision: () => revision,
    refresh,
    raise,
    observe,
    onNewer(newer) {
      onNewerFence = newer;
    },
  };
}

const READ = sql('read_fences')`select store_fences from ledger_state`;
const REPLACE = sql('replace_fences')`
  update ledger_state set store_fences = $2 where store_fences = $1 returning store_fences`;

/** Stores the fences in the row that every read of a caller includes. */
export function createFenceRow(pool: pg.Pool): FenceRow {
  return {
    async replace(from, to) {
      return (await run(pool, REPLACE, [from, to])).length === 1;
    },
    async read() {
      return (await only<{ store_fences: string }>(pool, READ, [])).store_fences;
    },
  };
}

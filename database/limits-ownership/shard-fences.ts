import { StoreUnavailable } from '../../core/store-unavailable.ts';

/**
 * Organizations are spread over shards by their id. A shard is one hash slot, because its number is
 * the hash tag of all its keys: so every call can be of one slot on Redis Cluster, and the marker
 * that detects the loss of a slot is in the same slot. More shards than a cluster has nodes spread
 * the load; each costs one small key.
 */
export const SHARDS = 64;

/**
 * One number for each shard of a store that processes share, kept in PostgreSQL and raised for
 * every new incarnation of the shard. Where two servers act as the master, the one with the newest
 * fence is the master; every process reads the fences with every request.
 */
export interface ShardFences {
  /** The newest that was read here; 0 before the first. */
  of(shard: number): number;
  /** Grows with every newer fence that is read. */
  revision(): number;
  /** Reads them as they are now. Rejects with StoreUnavailable. */
  refresh(): Promise<void>;
  /**
   * Raises those of these shards, if nobody raised any since they were read last; resolves with
   * whether it did. Rejects with StoreUnavailable.
   */
  raise(shards: readonly number[]): Promise<boolean>;
}

/** Fences as this process has read them, and since when they may be outdated. */
export interface ReadFences extends ShardFences {
  /** `readAtMs`: on the monotonic clock, before the database was asked. */
  observe(written: string, readAtMs: number): void;
  /**
   * Calls back when a newer fence was read, with when the last read began that showed the former
   * ones (monotonic).
   */
  onNewer(newer: (formerAtMs: number) => void): void;
}

/** The row of the database that holds them. */
export interface FenceRow {
  /**
   * Changes it from what it was read as. False: it was not that any more. Rejects with
   * StoreUnavailable.
   */
  replace(from: string, to: string): Promise<boolean>;
  /** Rejects with StoreUnavailable. */
  read(): Promise<string>;
}

/** Fences as text: one number for all shards, or one for each, with commas between. */
export function createShardFences(row: FenceRow): ReadFences {
  let written = '0';
  let newest: readonly number[] = new Array<number>(SHARDS).fill(0);
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let revision = 0;
  let told: ((formerAtMs: number) => void) | undefined;

  function parse(text: string): readonly number[] {
    const numbers = text.split(',').map(Number);
    const all = numbers.length === 1 ? new Array<number>(SHARDS).fill(numbers[0] ?? 0) : numbers;
    if (all.length !== SHARDS || !all.every(Number.isSafeInteger)) {
      throw new StoreUnavailable(`the fences in the database cannot be read: ${text.slice(0, 100)}`);
    }
    return all;
  }

  /**
   * Reads of one moment may arrive in any order, and a database that was restored says older fences
   * than were raised.
   */
  function observe(text: string, readAtMs: number): void {
    if (text !== written) {
      const read = parse(text);
      const merged = newest.map((fence, shard) => Math.max(fence, read[shard] ?? 0));
      if (merged.some((fence, shard) => fence > (newest[shard] ?? 0))) {
        newest = merged;
        revision++;
        told?.(confirmedAtMs);
      }
      written = text;
    }
    confirmedAtMs = Math.max(confirmedAtMs, readAtMs);
  }

  async function raise(which: readonly number[]): Promise<boolean> {
    const from = written;
    const raised = new Set(which);
    const to = newest.map((fence, shard) => (raised.has(shard) ? fence + 1 : fence));
    const text = new Set(to).size === 1 ? String(to[0]) : to.join(',');
    const readAtMs = performance.now();
    const done = await row.replace(from, text);
    if (done) observe(text, readAtMs);
    return done;
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
      told = newer;
    },
  };
}

import { type Clock, elapsedMs, type Instant, instantOf, type UtcDay } from '#core/clock.ts';
import type { Principal } from '#core/principal.ts';
import type { CallerChanges } from '../limits-ownership/caller-subscription.ts';
import type { KeyStore } from './key-store.ts';

/**
 * Longest use of a cached caller. A charge of a process that died before it ended the hold is
 * announced to nobody. But its money stays held for at least a minute (`timeouts.total` and 60 s),
 * so every snapshot in use after that was read with the charge. Rollbacks of the database are also
 * detected by these reads.
 */
export const CACHED_FOR_MS = 10_000;

/** Size of the cache. A caller weighs one unit, and one more for each model and address range. */
const MAX_WEIGHT = 20_000;
/** Largest part of the cache for one organization, so that its keys do not evict all others. */
const SHARE_OF_ORGANIZATION = 1 / 8;

interface Cached {
  readonly caller: Principal;
  readonly day: UtcDay;
  readonly readAt: Instant;
  readonly forMs: number;
}

interface CachedOfOrganization {
  /** In the order of reading. */
  readonly hashes: Set<string>;
  weight: number;
}

export interface CachedCallersOptions {
  readonly reads: KeyStore;
  readonly changes: CallerChanges;
  readonly clock: Clock;
  readonly onFound?: (from: 'memory' | 'database') => void;
  readonly maxWeight?: number;
}

/** The cache of callers, bounded in total and for each organization. */
class CallerCache {
  readonly #maxWeight: number;
  /** By hash, in the order of reading. */
  readonly #cached = new Map<string, Cached>();
  readonly #ofOrganization = new Map<string, CachedOfOrganization>();
  #weight = 0;

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight;
  }

  find(hash: string): Cached | undefined {
    return this.#cached.get(hash);
  }

  add(hash: string, one: Cached): void {
    this.#drop(hash);
    const { id } = one.caller.organization;
    const own = this.#ofOrganization.get(id) ?? { hashes: new Set(), weight: 0 };
    this.#ofOrganization.set(id, own);
    this.#cached.set(hash, one);
    own.hashes.add(hash);
    own.weight += weightOf(one.caller);
    this.#weight += weightOf(one.caller);
    this.#dropWhile(own.hashes, () => own.weight > this.#maxWeight * SHARE_OF_ORGANIZATION);
    this.#dropWhile(this.#cached.keys(), () => this.#weight > this.#maxWeight);
  }

  /** Drops the callers of an organization. `undefined`: of all organizations. */
  dropOf(organizationId: string | undefined): void {
    const hashes =
      organizationId === undefined ? this.#cached.keys() : this.#ofOrganization.get(organizationId)?.hashes;
    this.#dropWhile(hashes ?? [], () => true);
  }

  #dropWhile(oldestFirst: Iterable<string>, isOver: () => boolean): void {
    for (const hash of oldestFirst) {
      if (!isOver()) return;
      this.#drop(hash);
    }
  }

  #drop(hash: string): void {
    const one = this.#cached.get(hash);
    const own = one && this.#ofOrganization.get(one.caller.organization.id);
    if (one === undefined || own === undefined) return;
    this.#cached.delete(hash);
    this.#weight -= weightOf(one.caller);
    own.hashes.delete(hash);
    own.weight -= weightOf(one.caller);
    if (own.hashes.size === 0) this.#ofOrganization.delete(one.caller.organization.id);
  }
}

/**
 * Caches callers until PostgreSQL announces that they have changed (docs/design.md, "Callers in
 * memory"). They are used only while it is proved that no announcement is missing.
 */
export function cacheCallers({
  reads,
  changes,
  clock,
  onFound,
  maxWeight = MAX_WEIGHT,
}: CachedCallersOptions): KeyStore {
  const cache = new CallerCache(maxWeight);
  /** Number of announced changes. */
  let changesSeen = 0;

  changes.onChanged((organizationId) => {
    changesSeen += 1;
    cache.dropOf(organizationId);
  });

  function cachedFor(hash: string, day: UtcDay): Principal | undefined {
    // Called first, even for an unknown caller, because the call also requests the next proof.
    const isProved = changes.isProved();
    const one = cache.find(hash);
    if (!isProved || one?.day !== day || elapsedMs(one.readAt, clock) >= one.forMs) return undefined;
    return one.caller;
  }

  return {
    async findByHash(hash, day, from) {
      const name = hash.toString('latin1');
      const known = from === 'database' ? undefined : cachedFor(name, day);
      onFound?.(known === undefined ? 'database' : 'memory');
      if (known !== undefined) return known;
      const readAt = instantOf(clock);
      const changesBefore = changesSeen;
      const caller = await reads.findByHash(hash, day);
      // The caller may lack a change that was announced during the read, so it is not cached then.
      if (caller !== undefined && changesSeen === changesBefore) {
        const forMs = Math.min(CACHED_FOR_MS, caller.key.revokedInMs ?? CACHED_FOR_MS);
        cache.add(name, { caller, day, readAt, forMs });
      }
      return caller;
    },
  };
}

function weightOf({ key }: Principal): number {
  return 1 + (key.models?.size ?? 0) + (key.ipRanges?.length ?? 0);
}

import { type Clock, elapsedMs, type Instant, instantOf, type UtcDay } from '#core/clock.ts';
import type { Principal } from '#core/principal.ts';
import type { CallerChanges } from '../limits-ownership/caller-subscription.ts';
import type { KeyStore } from './key-store.ts';

/**
 * Longest use of a kept caller. A charge of a process that died before it ended the hold is
 * announced to nobody. But its money stays held for at least a minute (`timeouts.total` and 60 s),
 * so every snapshot in use after that was read with the charge. Rollbacks of the database are also
 * detected by these reads.
 */
export const KEPT_FOR_MS = 10_000;

/** Size of the cache. Each caller takes one unit, and one more for each model and address range. */
const MOST_PLACES = 20_000;
/** Largest part of the cache for one organization, so that its keys do not evict all others. */
const SHARE_OF_ORGANIZATION = 1 / 8;

interface Kept {
  readonly caller: Principal;
  readonly day: UtcDay;
  readonly readAt: Instant;
  readonly forMs: number;
}

interface KeptOfOrganization {
  /** In the order of reading. */
  readonly hashes: Set<string>;
  places: number;
}

export interface KeptCallersOptions {
  readonly reads: KeyStore;
  readonly changes: CallerChanges;
  readonly clock: Clock;
  readonly onFound?: (from: 'memory' | 'database') => void;
  readonly mostPlaces?: number;
}

/** The cache of callers, bounded in total and for each organization. */
class Room {
  readonly #mostPlaces: number;
  /** By hash, in the order of reading. */
  readonly #kept = new Map<string, Kept>();
  readonly #ofOrganization = new Map<string, KeptOfOrganization>();
  #places = 0;

  constructor(mostPlaces: number) {
    this.#mostPlaces = mostPlaces;
  }

  find(hash: string): Kept | undefined {
    return this.#kept.get(hash);
  }

  keep(hash: string, one: Kept): void {
    this.#drop(hash);
    const { id } = one.caller.organization;
    const own = this.#ofOrganization.get(id) ?? { hashes: new Set(), places: 0 };
    this.#ofOrganization.set(id, own);
    this.#kept.set(hash, one);
    own.hashes.add(hash);
    own.places += placesOf(one.caller);
    this.#places += placesOf(one.caller);
    this.#dropWhile(own.hashes, () => own.places > this.#mostPlaces * SHARE_OF_ORGANIZATION);
    this.#dropWhile(this.#kept.keys(), () => this.#places > this.#mostPlaces);
  }

  /** Drops the callers of an organization. `undefined`: of all organizations. */
  dropOf(organizationId: string | undefined): void {
    const hashes = organizationId === undefined ? this.#kept.keys() : this.#ofOrganization.get(organizationId)?.hashes;
    this.#dropWhile(hashes ?? [], () => true);
  }

  #dropWhile(oldestFirst: Iterable<string>, isOver: () => boolean): void {
    for (const hash of oldestFirst) {
      if (!isOver()) return;
      this.#drop(hash);
    }
  }

  #drop(hash: string): void {
    const one = this.#kept.get(hash);
    const own = one && this.#ofOrganization.get(one.caller.organization.id);
    if (one === undefined || own === undefined) return;
    this.#kept.delete(hash);
    this.#places -= placesOf(one.caller);
    own.hashes.delete(hash);
    own.places -= placesOf(one.caller);
    if (own.hashes.size === 0) this.#ofOrganization.delete(one.caller.organization.id);
  }
}

/**
 * Caches callers until PostgreSQL announces that they have changed (docs/design.md, "Callers in
 * memory"). They are used only while it is proved that no announcement is missing.
 */
export function keepCallers({
  reads,
  changes,
  clock,
  onFound,
  mostPlaces = MOST_PLACES,
}: KeptCallersOptions): KeyStore {
  const room = new Room(mostPlaces);
  /** Number of announced changes. */
  let told = 0;

  changes.onChanged((organizationId) => {
    told += 1;
    room.dropOf(organizationId);
  });

  function keptFor(hash: string, day: UtcDay): Principal | undefined {
    // Called first, even if the caller is not kept, because the call also requests the next proof.
    const isProved = changes.isProved();
    const one = room.find(hash);
    if (!isProved || one?.day !== day || elapsedMs(one.readAt, clock) >= one.forMs) return undefined;
    return one.caller;
  }

  return {
    async findByHash(hash, day, from) {
      const name = hash.toString('latin1');
      const known = from === 'database' ? undefined : keptFor(name, day);
      onFound?.(known === undefined ? 'database' : 'memory');
      if (known !== undefined) return known;
      const readAt = instantOf(clock);
      const toldBefore = told;
      const caller = await reads.findByHash(hash, day);
      // The caller may lack a change that was announced during the read, so it is not kept then.
      if (caller !== undefined && told === toldBefore) {
        const forMs = Math.min(KEPT_FOR_MS, caller.key.revokedInMs ?? KEPT_FOR_MS);
        room.keep(name, { caller, day, readAt, forMs });
      }
      return caller;
    },
  };
}

function placesOf({ key }: Principal): number {
  return 1 + (key.models?.size ?? 0) + (key.ipRanges?.length ?? 0);
}

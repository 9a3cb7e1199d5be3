import { type Clock, elapsedMs, type Instant, instantOf, type UtcDay } from '#core/clock.ts';
import type { Principal } from '#core/principal.ts';
import type { CallerChanges } from '../limits-ownership/caller-subscription.ts';
import type { KeyStore } from './key-store.ts';

/**
 * A charge of a process that died before it ended the hold is told to nobody. Its money stays held
 * for a minute at least (`timeouts.total` and 60 s), so every snapshot that is used afterwards has
 * been read with the charge. Also, rollbacks of the database are detected by reading.
 */
export const KEPT_FOR_MS = 10_000;

/** Room in memory: each caller takes one place, and one more for each model and address range. */
const MOST_PLACES = 20_000;
/** An organization has this part of the room, so that its many keys do not displace all others. */
const SHARE_OF_ORGANIZATION = 1 / 8;

interface Kept {
  readonly caller: Principal;
  readonly day: UtcDay;
  readonly readAt: Instant;
  readonly forMs: number;
}

interface KeptOfOrganization {
  /** Those that were read first at the front. */
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

/**
 * Keeps callers that were read, until PostgreSQL tells that they have changed (docs/design.md,
 * "Callers in memory"). They are used only while it is proved that nothing remains to be told.
 */
export function keepCallers({
  reads,
  changes,
  clock,
  onFound,
  mostPlaces = MOST_PLACES,
}: KeptCallersOptions): KeyStore {
  /** By hash, those that were read first at the front. */
  const kept = new Map<string, Kept>();
  const ofOrganization = new Map<string, KeptOfOrganization>();
  let places = 0;
  /** Number of changes that were told. */
  let told = 0;

  changes.onChanged((organizationId) => {
    told += 1;
    const hashes = organizationId === undefined ? kept.keys() : (ofOrganization.get(organizationId)?.hashes ?? []);
    for (const hash of [...hashes]) drop(hash);
  });

  function drop(hash: string): void {
    const one = kept.get(hash);
    if (one === undefined) return;
    kept.delete(hash);
    places -= placesOf(one.caller);
    const { id } = one.caller.organization;
    const own = ofOrganization.get(id);
    if (own === undefined) return;
    own.hashes.delete(hash);
    own.places -= placesOf(one.caller);
    if (own.hashes.size === 0) ofOrganization.delete(id);
  }

  function keep(hash: string, one: Kept): void {
    drop(hash);
    const own = ofOrganization.get(one.caller.organization.id) ?? { hashes: new Set(), places: 0 };
    ofOrganization.set(one.caller.organization.id, own);
    kept.set(hash, one);
    own.hashes.add(hash);
    own.places += placesOf(one.caller);
    places += placesOf(one.caller);
    for (const oldest of own.hashes) {
      if (own.places <= mostPlaces * SHARE_OF_ORGANIZATION) break;
      drop(oldest);
    }
    for (const oldest of kept.keys()) {
      if (places <= mostPlaces) break;
      drop(oldest);
    }
  }

  function keptFor(hash: string, day: UtcDay): Principal | undefined {
    // Asked first, also for a caller that is not kept: that asks for the next proof.
    const isProved = changes.isProved();
    const one = kept.get(hash);
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
      // What changed after the read began may be missing in it, and is not told again.
      if (caller !== undefined && told === toldBefore) {
        const forMs = Math.min(KEPT_FOR_MS, caller.key.revokedInMs ?? KEPT_FOR_MS);
        keep(name, { caller, day, readAt, forMs });
      }
      return caller;
    },
  };
}

function placesOf({ key }: Principal): number {
  return 1 + (key.models?.size ?? 0) + (key.ipRanges?.length ?? 0);
}

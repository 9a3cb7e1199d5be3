import type { UtcDay } from '#core/clock.ts';
import type { Principal } from '#core/principal.ts';

/**
 * Reads callers from PostgreSQL for every request, without a cache (docs/design.md, "Invariants",
 * 8).
 */
export interface KeyStore {
  /**
   * Finds a caller. `hash` is the SHA-256 of the whole key; `day` selects the spend of the
   * snapshot. `undefined`: no such key. Rejects with StoreUnavailable if the store does not reply
   * in time.
   */
  findByHash(hash: Buffer, day: UtcDay): Promise<Principal | undefined>;
}

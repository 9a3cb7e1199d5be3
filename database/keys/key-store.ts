import type { UtcDay } from '../../core/clock.ts';
import type { Principal } from '../../core/principal.ts';

/**
 * Reads the caller from the authority, for every request, so that nothing waits for a cache
 * (docs/design.md, "Invariants", 8).
 */
export interface KeyStore {
  /**
   * `hash` is the SHA-256 of the whole key; `day` says which day's spend the snapshot carries.
   * `undefined`: no such key. Rejects with StoreUnavailable when the store cannot answer in time.
   */
  findByHash(hash: Buffer, day: UtcDay): Promise<Principal | undefined>;
}

import type { UtcDay } from '#core/clock.ts';
import type { Principal } from '#core/principal.ts';

/** Callers by their keys (docs/design.md, "Callers in memory"). */
export interface KeyStore {
  /**
   * Finds a caller. `hash` is the SHA-256 of the whole key; `day` selects the spend of the
   * snapshot. `from`: `database` reads also a caller that is kept in memory. `undefined`: no such
   * key. Rejects with StoreUnavailable if the store does not reply in time.
   */
  findByHash(hash: Buffer, day: UtcDay, from?: 'database'): Promise<Principal | undefined>;
}

import type { UtcDay } from '#core/clock.ts';
import type { Principal } from '#core/principal.ts';

/** Finds callers by their API keys (docs/design.md, "Callers in memory"). */
export interface KeyStore {
  /**
   * Finds a caller. `hash` is the SHA-256 of the whole key. `day` selects the spend in the account
   * snapshot. `from`: `database` bypasses callers kept in memory. `undefined`: there is no such
   * key. Rejects with StoreUnavailable if the store does not reply in time.
   */
  findByHash(hash: Buffer, day: UtcDay, from?: 'database'): Promise<Principal | undefined>;
}

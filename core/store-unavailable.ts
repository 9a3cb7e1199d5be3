/**
 * A store that cannot answer now: the gateway fails closed with `no_capacity` (docs/design.md,
 * "Invariants", 6). The cause is for the log only.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

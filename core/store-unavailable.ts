/**
 * A store cannot respond now, so the gateway fails closed with `no_capacity` (docs/design.md,
 * "Invariants", 6). The cause is for the log only.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

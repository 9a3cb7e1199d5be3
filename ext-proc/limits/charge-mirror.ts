/**
 * Contract of the mirror, which has copies of waiting charges in Redis. Every process can read the
 * copies and make the charges, so a charge does not depend on its process. Charging is idempotent
 * by generation id. If a request whose charge waits in a log and another request want the same
 * idempotency key, the mirror decides which one gets it. Methods reject with StoreUnavailable.
 */
export interface ChargeMirror {
  /**
   * Stores a copy. `taken_over`: another request took the key over (`takeOverClaim`), so this
   * response must not be delivered. `full`: not stored, because there are too many copies or the
   * charge is too large.
   */
  add(charge: MirroredCharge): Promise<'kept' | 'taken_over' | 'full'>;
  /** Lists the oldest copies of each shard. */
  list(): Promise<readonly MirroredCharge[]>;
  remove(charge: Pick<MirroredCharge, 'organizationId' | 'generationId'>): Promise<void>;
  /** Takes over a request's claim. True: the request has not ended, and can no longer end. */
  takeOverClaim(organizationId: string, generationId: string): Promise<boolean>;
}

export interface MirroredCharge {
  readonly organizationId: string;
  readonly generationId: string;
  /** Content, opaque to the mirror. */
  readonly text: string;
}

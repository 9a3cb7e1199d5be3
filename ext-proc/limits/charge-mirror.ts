/**
 * Contract of the copies of charges that wait, in Redis. Every process can read and charge them, so
 * a charge does not wait for its process. Charging is idempotent by generation id. The mirror also
 * decides between a request whose response waits in a log and another request that wants its
 * idempotency key: one of them gets it. Methods reject with StoreUnavailable.
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
  /**
   * Takes over the claim of a request. True: it has not ended, and from now on cannot.
   */
  takeOverClaim(organizationId: string, generationId: string): Promise<boolean>;
}

export interface MirroredCharge {
  readonly organizationId: string;
  readonly generationId: string;
  /** Content, opaque to the mirror. */
  readonly text: string;
}

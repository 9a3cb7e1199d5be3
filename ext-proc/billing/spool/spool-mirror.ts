/**
 * Copies of spooled charges in Redis, where every process can read and charge them: a charge does
 * not wait for the process that spooled it. Charging is idempotent by generation id. The mirror
 * also decides between an attempt with an idempotency key that ends in the spool and another
 * attempt that wants the key: only one of them gets it. Methods reject with StoreUnavailable.
 */
export interface SpoolMirror {
  /**
   * `taken_over`: another attempt was promised the key of this one (`takeOverClaim`), so its answer
   * must not be given. `full`: nothing was kept, because too much is there, or the charge is too
   * large.
   */
  add(charge: MirroredCharge): Promise<'kept' | 'taken_over' | 'full'>;
  /** The oldest of each shard. */
  list(): Promise<readonly MirroredCharge[]>;
  remove(charge: Pick<MirroredCharge, 'organizationId' | 'generationId'>): Promise<void>;
  /**
   * True if that attempt may be taken over: it has not ended in a spool, and from now on cannot.
   */
  takeOverClaim(organizationId: string, generationId: string): Promise<boolean>;
}

export interface MirroredCharge {
  readonly organizationId: string;
  readonly generationId: string;
  /** Means nothing to the mirror. */
  readonly text: string;
}

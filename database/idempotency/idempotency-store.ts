/**
 * Claims on idempotency keys and the responses that are replayed for them (docs/design.md,
 * "Idempotency"). The ledger writes the stored response in the transaction of its charge, so a
 * replay and its charge cannot disagree. Methods reject with StoreUnavailable.
 */
export interface IdempotencyStore {
  /** Claims a free key. Of several concurrent claims one succeeds. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Extends leases. A claim that has lost its key is skipped: its settlement will notice. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<void>;
  /** Frees a key without a response, unless another request claimed it or it has a response. */
  free(claim: Claim): Promise<void>;
  /**
   * Reads at most `bytes` of a sealed response from `from` on; `undefined`: it was deleted. A
   * response never changes. PostgreSQL sends bytes as hexadecimal text, so large pieces take three
   * times their memory.
   */
  piece(claim: Claim, from: number, bytes: number): Promise<Buffer | undefined>;
  /** Deletes rows older than that, oldest first, at most `limit`. Returns the number deleted. */
  deleteOlderThan(retentionMs: number, limit: number): Promise<number>;
  /**
   * Corrects each organization's sum of stored bytes after deletions without a charge. Evicts the
   * oldest responses of organizations above the bound. Changes at most about `limit` rows of each
   * kind.
   */
  tidyStored(boundBytes: number, limit: number): Promise<Tidied>;
}

export interface Tidied {
  /** Number of rows changed. If it equals `limit`, there is more to do. */
  readonly changed: number;
  readonly evicted: number;
  /** Bytes stored for all organizations. */
  readonly storedBytes: number;
}

/** Claim of a request. Its generation id, new for each request, is the fencing token. */
export interface Claim {
  readonly organizationId: string;
  /** 32 bytes. */
  readonly keyHash: Buffer;
  readonly generationId: string;
}

export interface ClaimRequest extends Claim {
  /** Keyed hash, 32 bytes. It only shows whether the body is the same. */
  readonly bodyHash: Buffer;
  /** The claim expires if it is not renewed for this long. */
  readonly leaseMs: number;
  readonly retentionMs: number;
  /** Does not claim the key of an expired claim, but returns `expired`. */
  readonly leaveExpired?: boolean;
}

export type ClaimResult =
  | { readonly kind: 'claimed' }
  /** `reused`: the key was used with another body. */
  | { readonly kind: 'reused' | 'running' }
  /** The other claim was not renewed in time. */
  | { readonly kind: 'expired'; readonly generationId: string }
  | { readonly kind: 'finished'; readonly generationId: string; readonly sealedBytes: number };

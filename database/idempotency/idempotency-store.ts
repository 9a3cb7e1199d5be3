/**
 * Claims on idempotency keys and the responses that are replayed for them (docs/design.md,
 * "Idempotency"). The finished response is written by the ledger, in the transaction that charges
 * it; so a replay and its charge cannot disagree. Methods reject with StoreUnavailable.
 */
export interface IdempotencyStore {
  /** Takes a free key. Of several claims at once one gets it. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /**
   * Extends the leases of live claims. A claim that lost its key is skipped: its settlement detects
   * it.
   */
  renew(claims: readonly Claim[], leaseMs: number): Promise<void>;
  /**
   * Frees a key without a response. Changes nothing if another request has the key, or if it has a
   * response.
   */
  free(claim: Claim): Promise<void>;
  /**
   * Reads at most `bytes` of a sealed response from `from` on; `undefined` if it was deleted. A
   * response never changes. PostgreSQL sends bytes as hexadecimal text, so large pieces take three
   * times their memory.
   */
  piece(claim: Claim, from: number, bytes: number): Promise<Buffer | undefined>;
  /** Deletes older rows, oldest first, at most `limit`. Returns how many. */
  deleteOlderThan(retentionMs: number, limit: number): Promise<number>;
  /**
   * Corrects each organization's sum of stored bytes after deletions without a charge. Evicts the
   * oldest responses of organizations above the bound. At most about `limit` rows of each kind.
   */
  tidyStored(boundBytes: number, limit: number): Promise<Tidied>;
}

export interface Tidied {
  /** How many rows were changed. If it equals `limit`, there is more to do. */
  readonly changed: number;
  /** Evicted responses. */
  readonly evicted: number;
  /** Stored bytes of all organizations. */
  readonly storedBytes: number;
}

/**
 * Claim of a request on an idempotency key. The generation id is the fencing token: it is new for
 * every request.
 */
export interface Claim {
  readonly organizationId: string;
  /** 32 bytes. */
  readonly keyHash: Buffer;
  readonly generationId: string;
}

export interface ClaimRequest extends Claim {
  /** Keyed hash, 32 bytes: only says if the body is the same. */
  readonly bodyHash: Buffer;
  /** A claim without renewal for this long counts as dead. */
  readonly leaseMs: number;
  readonly retentionMs: number;
  /** The key of a dead request is not claimed, but reported as `expired`. */
  readonly leaveExpired?: boolean;
}

export type ClaimResult =
  | { readonly kind: 'claimed' }
  /** The key was used with another body. */
  | { readonly kind: 'reused' | 'running' }
  /** The claim counts as dead. */
  | { readonly kind: 'expired'; readonly generationId: string }
  | { readonly kind: 'finished'; readonly generationId: string; readonly sealedBytes: number };

/**
 * Which attempt has an Idempotency-Key, and the answer that is replayed for it (DESIGN 3). The finished answer is written by the ledger, in
 * the transaction that charges it; so a replay and its charge cannot disagree. Methods reject with StoreUnavailable.
 */
export interface IdempotencyStore {
  /** Takes the key where it is free. One of any number of claims at once gets it. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Extends the leases of attempts that are alive. One that has lost its key is passed over: its settlement finds out. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<void>;
  /** Gives a key back that has no answer; nothing happens when another attempt has it, or it has its answer. */
  free(claim: Claim): Promise<void>;
  /** The sealed answer of a finished attempt; `undefined` when it is not there any more. */
  answer(claim: Claim): Promise<Buffer | undefined>;
  /** Deletes what is older, the oldest first. Returns how many rows, at most `limit`. */
  deleteOlderThan(retentionMs: number, limit: number): Promise<number>;
}

/** An attempt's hold on a key. The generation id is the fencing token: it is new for every attempt. */
export interface Claim {
  readonly organizationId: string;
  /** 32 bytes. */
  readonly keyHash: Buffer;
  readonly generationId: string;
}

export interface ClaimRequest extends Claim {
  /** 32 bytes, keyed: says only whether the body is the same. */
  readonly bodyHash: Buffer;
  /** The attempt counts as dead when it has not renewed for this long. */
  readonly leaseMs: number;
  readonly retentionMs: number;
  /** The key of a dead attempt is not taken, but told of as `lapsed`. */
  readonly leaveLapsed?: boolean;
}

export type ClaimResult =
  | { readonly kind: 'claimed' }
  /** The key was used with another body. */
  | { readonly kind: 'reused' }
  | { readonly kind: 'running' }
  /** The attempt counts as dead. */
  | { readonly kind: 'lapsed'; readonly generationId: string }
  | { readonly kind: 'finished'; readonly generationId: string; readonly answerBytes: number };

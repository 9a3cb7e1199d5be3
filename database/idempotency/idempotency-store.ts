/**
 * Claims on idempotency keys and the responses that are replayed for them (docs/design.md,
 * "Idempotency"). The finished response is written by the ledger, in the transaction that charges
 * it; so a replay and its charge cannot disagree. Methods reject with StoreUnavailable.
 */
export interface IdempotencyStore {
  /** Takes the key where it is free. One of any number of claims at once gets it. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /**
   * Extends the leases of attempts that are alive. One that has lost its key is passed over: its
   * settlement finds out.
   */
  renew(claims: readonly Claim[], leaseMs: number): Promise<void>;
  /**
   * Gives a key back that has no answer; nothing happens when another attempt has it, or it has its
   * answer.
   */
  free(claim: Claim): Promise<void>;
  /**
   * Reads the sealed answer of a finished attempt, from that byte on and at most so many;
   * `undefined` when it is not there any more. An answer never changes. Bytes come as hexadecimal
   * text: much at once would be there three times, and take too long for one statement.
   */
  piece(claim: Claim, from: number, bytes: number): Promise<Buffer | undefined>;
  /** Deletes what is older, the oldest first. Returns how many rows, at most `limit`. */
  deleteOlderThan(retentionMs: number, limit: number): Promise<number>;
  /**
   * Sees to the sums of what each organization has stored, where no charge did: answers that were
   * deleted, and those of the release before. Takes the oldest answers of organizations away that
   * are above the bound for another reason. At most about `limit` rows of a kind.
   */
  tidyStored(boundBytes: number, limit: number): Promise<Tidied>;
}

export interface Tidied {
  /** As long as it is the limit, there is more to do. */
  readonly changed: number;
  /** Answers that gave way. */
  readonly evicted: number;
  /** Sum of all organizations. */
  readonly storedBytes: number;
}

/**
 * An attempt's hold on a key. The generation id is the fencing token: it is new for every attempt.
 */
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
  /** The key of a dead request is not claimed, but reported as `lapsed`. */
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

/**
 * Keeps the sealed reasoning of assistant messages for a short time, for clients that do not send
 * it back (docs/design.md, "Kept reasoning"). Only the quality of the next response depends on it,
 * so messages may be evicted or lost. Methods reject with StoreUnavailable.
 */
export interface ReasoningStore {
  /**
   * Keeps one message. A different one of the same name makes the name ambiguous: neither is found
   * until both would have expired. `full`: not kept, because it is too large or there is no memory.
   * The name is then ambiguous too.
   */
  keep(message: SealedMessage): Promise<'kept' | 'full'>;
  /**
   * Finds messages of an organization, in the order of `names`, with at most `mostBytes` together.
   * `undefined`: there is none, or it would exceed that bound.
   */
  find(organizationId: string, names: readonly string[], mostBytes: number): Promise<readonly (Buffer | undefined)[]>;
  /** Bytes that this process has kept. */
  heldBytes(): number;
  /** Drops the messages of this process. Messages in a shared store stay until they expire. */
  close(): void;
}

export interface SealedMessage {
  readonly organizationId: string;
  /** Keyed hash, so that the name belongs to one organization and reveals nothing. */
  readonly name: string;
  /** Empty: nothing of the message is kept, and its name is ambiguous. */
  readonly sealed: Buffer;
}

/** Outcome for the reasoning of one message. */
export type KeptReasoningResult = 'kept' | 'full' | 'found' | 'missing' | 'unavailable';

/** Bounds of what one process keeps. */
export interface ReasoningBounds {
  readonly messageBytes: number;
  /** Above it the oldest messages of the organization are evicted. */
  readonly organizationBytes: number;
  /** Above it the oldest messages of the organization that has kept the most are evicted. */
  readonly totalBytes: number;
  readonly expiresAfterMs: number;
}

/**
 * The reasoning of a message usually has 1 to 4 KB. 64,000 tokens of thinking have 256 KiB. An
 * agent that works for an hour needs it from one tool call to the next.
 */
export const REASONING_BOUNDS: ReasoningBounds = {
  messageBytes: 256 * 1024,
  organizationBytes: 16 * 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
  expiresAfterMs: 3_600_000,
};

/** The answer of an earlier attempt, read from the database as its client takes it. */
export interface StoredAnswer {
  /** Size of the answer itself. */
  readonly bytes: number;
  /** The part of it that is in memory at once. */
  readonly memoryBytes: number;
  /** Its next bytes. Rejects when they are not what was stored. */
  next(): Promise<NextBytes>;
}

/** `gone`: the answer was deleted or gave way meanwhile, or the database does not answer any more. */
export type NextBytes = Buffer | 'end' | 'gone';

/** A limit store that several processes share, and whose state may be outdated. */
export interface SharedStore {
  /**
   * Reads the name that identifies this store. `given`: a name to set if it has none. `undefined`:
   * it has none.
   */
  name(given?: string): Promise<string | undefined>;
  /** Time within which live processes restore the name of a store that lost it. */
  readonly renamedWithinMs: number;
  /** Restores this name after each loss of data. Calls back if the store has another name. */
  keepName(name: string, onOther: () => void): void;
  /**
   * Deletes all state. For one lease, in which holds of other stores end, the store admits nothing.
   */
  startOver(): Promise<StartedOver>;
}

export interface StartedOver {
  /**
   * Opens admissions without that wait, because nothing is held anywhere. Shards that have lost
   * data since then stay closed.
   */
  open(): Promise<void>;
}

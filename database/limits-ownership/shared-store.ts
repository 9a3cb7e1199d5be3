/** A limit store that several processes share. Its state may be outdated. */
export interface SharedStore {
  /**
   * Reads the name that distinguishes this store from another. `given`: a name for a store without
   * one. `undefined`: none.
   */
  name(given?: string): Promise<string | undefined>;
  /** A store that lost its name gets it back from living processes within this time. */
  readonly renamedWithinMs: number;
  /** Restores this name after each loss of data, and reports another name. */
  keepName(name: string, onOther: () => void): void;
  /**
   * Deletes all state. The store admits nothing for one lease, in which holds of other stores end.
   */
  startOver(): Promise<StartedOver>;
}

export interface StartedOver {
  /**
   * Opens admissions without that wait, because nothing is held anywhere. Shards that lost data
   * since then stay closed.
   */
  open(): Promise<void>;
}

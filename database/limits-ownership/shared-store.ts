/** A limit store that several processes share, and whose state may be outdated. */
export interface SharedStore {
  /** Reads the name of this store. `given`: a name to set if it has none. `undefined`: none. */
  name(given?: string): Promise<string | undefined>;
  /** Time within which live processes restore the name of a store that lost it. */
  readonly renamedWithinMs: number;
  /** Restores this name after each loss of data. Calls back if the store has another name. */
  keepName(name: string, onOther: () => void): void;
  /** Deletes all state. Admits nothing for one lease, in which holds of other stores end. */
  startOver(): Promise<StartedOver>;
}

export interface StartedOver {
  /** Opens admissions without that wait: nothing is held. Shards that lost data stay closed. */
  open(): Promise<void>;
}

/** A store that processes share, and that may remember what is no longer so. */
export interface SharedStore {
  /**
   * Name that distinguishes two stores; with `given`, a store without a name gets that one.
   * `undefined`: none.
   */
  name(given?: string): Promise<string | undefined>;
  /** When it forgot its name, a living process has given it back after this long. */
  readonly namedAgainMs: number;
  /** Restores this name after each loss of data, and reports another name. */
  keepName(name: string, onOther: () => void): void;
  /**
   * Makes it forget everything, and admit nothing for one lease, until whatever is held elsewhere
   * has ended.
   */
  beginAnew(): Promise<NewBeginning>;
}

export interface NewBeginning {
  /**
   * Opens admissions without a wait, because nothing is held anywhere. Does not open shards that
   * lost data again since.
   */
  open(): Promise<void>;
}

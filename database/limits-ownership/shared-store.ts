/** A store that processes share, and that may remember what is no longer so. */
export interface SharedStore {
  /** The name it bears, by which two stores are told apart; with `given`, that one where it has none. `undefined`: none. */
  name(given?: string): Promise<string | undefined>;
  /** When it forgot its name, a living process has given it back after this long. */
  readonly namedAgainMs: number;
  /** Gives it this name back whenever it forgot, and tells when it bears another. */
  keepName(name: string, onOther: () => void): void;
  /** Makes it forget everything, and admit nothing for one lease, until whatever is held elsewhere has ended. */
  beginAnew(): Promise<NewBeginning>;
}

export interface NewBeginning {
  /** Nothing is held anywhere: admissions need not wait. Does nothing to what was forgotten again since. */
  open(): Promise<void>;
}

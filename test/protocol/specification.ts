/** One file of TLA+ and the configurations in which it is explored. */
export interface Specification {
  /** Its name without `.tla`. */
  readonly module: string;
  /** They have to hold where a configuration does not say otherwise. */
  readonly invariants: readonly string[];
  /** Constants of every configuration: every rule TRUE, every fault 0. */
  readonly defaults: Constants;
  readonly configurations: readonly Configuration[];
  /**
   * The processes are alike, so that half of the states need not be explored. Default: they are.
   */
  readonly isAlike?: (constants: Constants) => boolean;
}

type Constants = Readonly<Record<string, string | number>>;

export interface Configuration {
  readonly name: string;
  readonly constants: Constants;
  /** The invariant that has to fail; absent where all have to hold. */
  readonly breaks?: string;
}

/** One TLA+ file and the configurations in which it is explored. */
export interface Specification {
  /** Name of the file without `.tla`. */
  readonly module: string;
  /** Invariants that must hold unless a configuration names one in `breaks`. */
  readonly invariants: readonly string[];
  /** Default constants: every rule TRUE, every fault 0. */
  readonly defaults: Constants;
  readonly configurations: readonly Configuration[];
  /**
   * True if the processes are interchangeable, which halves the states to explore. Default: true.
   */
  readonly isAlike?: (constants: Constants) => boolean;
}

type Constants = Readonly<Record<string, string | number>>;

export interface Configuration {
  readonly name: string;
  readonly constants: Constants;
  /** The invariant that must fail. Absent if all must hold. */
  readonly breaks?: string;
}

/** A model's value that differs from the catalogue. */
export interface Difference {
  readonly model: string;
  /** `usd_per_million_tokens.above.272000.input`, `shutdown_date` */
  readonly field: string;
  /** Null where it lacks something: a shutdown, a service tier, hours, a later table. */
  readonly configured: number | null;
  /** The day of a shutdown, and prices of what is lacking, are texts. */
  readonly catalogue: number | string;
}

/** A price of a model's target on which the sources of the catalogue disagree. */
export interface Dispute {
  readonly model: string;
  /** A kind of price, or `above`: lengths of prompts with other prices. */
  readonly field: string;
  readonly catalogue: number | string;
  /** The other source, which is not trusted here, says this. */
  readonly other: number | string;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  readonly disputed: readonly Dispute[];
}

/** A model's value that differs from the catalogue. */
export interface Difference {
  readonly model: string;
  /** `usd_per_million_tokens.above.272000.input`, `shutdown_date` */
  readonly field: string;
  /** Null if the configuration lacks a service tier, hours or a later table, or for a shutdown. */
  readonly configured: number | null;
  /** A text for the day of a shutdown, and for the prices of a missing part. */
  readonly catalogue: number | string;
}

/** A price of a model's target on which the sources of the catalogue disagree. */
export interface Dispute {
  readonly model: string;
  /** A kind of price, or `above`: lengths of prompts with other prices. */
  readonly field: string;
  readonly catalogue: number | string;
  /** Value of the other source, which is not trusted here. */
  readonly other: number | string;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  readonly disputed: readonly Dispute[];
}

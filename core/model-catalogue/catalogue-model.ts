import type { NamedPrices } from '../price-kinds.ts';

/** Prices as the configuration has them, in USD per million tokens with at most 6 decimals. */
export type CataloguePrices = NamedPrices<number>;

export interface CatalogueTier extends CataloguePrices {
  /** Ascending. */
  readonly above?: readonly CataloguePricesAbove[];
}

export interface CataloguePricesAbove extends CataloguePrices {
  readonly input_tokens: number;
}

export interface CatalogueTable extends CatalogueTier {
  readonly service_tiers?: Readonly<Record<string, CatalogueTier>>;
}

/** Hours of the day in UTC in which other prices apply. Without `days` they apply every day. */
export interface CatalogueWindow extends CatalogueTable {
  readonly utc: string;
  readonly days?: readonly string[];
  readonly except?: readonly string[];
}

export interface CataloguePeriod extends CatalogueTable {
  readonly hours?: readonly CatalogueWindow[];
}

/** Current prices, and later ones by the day or instant from which they apply, ascending. */
export interface CatalogueSchedule extends CataloguePeriod {
  readonly from?: Readonly<Record<string, CataloguePeriod>>;
}

/** Kinds of prices in which two sources are compared. */
export const DISPUTABLE = ['input', 'cached_input', 'cache_write', 'output'] as const;

/** Prices of the source that is not trusted, and lengths of prompts with other prices. */
export interface Disputed extends Readonly<Partial<Record<(typeof DISPUTABLE)[number], number>>> {
  readonly above?: readonly number[];
}

/** A model that can be imported. Members have the names and form of the configuration. */
export interface CatalogueModel {
  /** `provider/model`: name in the catalogue's providers, then the provider's own name for it. */
  readonly id: string;
  readonly capabilities: readonly string[];
  readonly reasoning_efforts: readonly string[];
  readonly context_window: number;
  readonly max_output_tokens: number;
  readonly usd_per_million_tokens: CatalogueSchedule;
  /** Absent: the sources agree, or only one of them has the model. */
  readonly disputed?: Disputed;
  readonly tokenizer?: string;
  /** The provider stops serving it on this day, `YYYY-MM-DD`. */
  readonly shutdown_date?: string;
  /** Members of its target besides `provider` and `model`. */
  readonly target?: Readonly<Record<string, unknown>>;
}

/** Part of a model's id after the first slash. */
export function nameAtProvider(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

export function providerOf(id: string): string {
  return id.slice(0, Math.max(id.indexOf('/'), 0));
}

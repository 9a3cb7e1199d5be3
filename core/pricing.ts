import type { NanoUsd } from './money.ts';
import { byPrice, byTokens, PRICE_FIELDS, PRICE_KINDS, type PriceField, type TokenKind } from './price-kinds.ts';
import { type TableTier, tierIn } from './service-tiers.ts';

/** Prices of an entry in whole pico-dollars per token (USD per million x 1e6): exact charges. */
export type Prices = Readonly<Record<PriceField, bigint>>;

/** Prices of a whole request whose prompt has more tokens than this. */
export interface PricesAbove {
  readonly inputTokens: number;
  readonly prices: Prices;
}

export interface TierPrices {
  readonly prices: Prices;
  /** Ascending. */
  readonly above: readonly PricesAbove[];
}

/** Prices of a model, or costs of a target. */
export interface PriceTable extends TierPrices {
  /** Tiers besides the default one, which the table itself prices. */
  readonly serviceTiers: ReadonlyMap<string, TierPrices>;
  /** Cache writes with a price of their own: of up to five minutes, or longer ones too. */
  readonly cacheWrites?: 'short' | 'long';
}

/** A table with the same prices for every request. */
export function flatTable(prices: Prices): PriceTable {
  return { prices, above: [], serviceTiers: new Map() };
}

/** Price table of a request and the tier that it asked for. */
export interface PricingTerms {
  readonly priceTable: PriceTable;
  /** `undefined`: the client asked for none. */
  readonly askedTier?: string | undefined;
}

/** Pricing terms with the tier that a target was sent. */
export interface AttemptTerms extends PricingTerms {
  /** As in chat completions. `undefined`: the target's `request` dropped it, or there was none. */
  readonly sentTier?: string | undefined;
}

/** Terms of a request whose price may be that of a price list. */
export interface ListedTerms extends PricingTerms {
  /** The model's own table. Absent: it is `priceTable`. */
  readonly ownTable?: PriceTable;
}

/** Entry of a price table that applies to a request. */
export interface AppliedPrices {
  readonly prices: Prices;
  /** Absent: the default tier. */
  readonly pricedTier?: string;
  /** `input_tokens` of the entry of `above`. Absent: none applies. */
  readonly pricedAboveTokens?: number;
}

/**
 * Tokens of a generation. Cached tokens and cache writes are part of prompt tokens, one-hour writes
 * part of cache writes, reasoning tokens part of completion tokens.
 */
export type TokenUsage = Readonly<Record<TokenKind, number>>;

/** Kinds of tokens that logs keep. Cache writes are kept with the generation alone. */
export type LoggedUsage = Omit<TokenUsage, 'cacheWriteTokens' | 'cacheWrite1hTokens'>;

/** Origin of a count of tokens: the provider, our tokenizer, or the length of the text. */
export type TokenSource = 'reported' | 'counted' | 'estimated';

export const NO_PRICES: Prices = byPrice(() => 0n);
export const NO_USAGE: TokenUsage = byTokens(() => 0);

const INPUT_PRICES = pricesAtMost('input');
const OUTPUT_PRICES = pricesAtMost('output');

const PICO_PER_NANO = 1000n;

/** The only rounding of a charge: up to the next nano-dollar. */
function toNanoUsd(picoUsd: bigint): NanoUsd {
  return (picoUsd + PICO_PER_NANO - 1n) / PICO_PER_NANO;
}

export function tokensAt(price: keyof Prices, usage: TokenUsage): number {
  const { tokens, without } = PRICE_KINDS[price];
  let count = usage[tokens];
  for (const other of without) count -= usage[other];
  return count;
}

/** The exact charge for a usage, at the prices of the entry that applies. */
export function chargeNanoUsd(prices: Prices, usage: TokenUsage): NanoUsd {
  let picoUsd = 0n;
  for (const price of PRICE_FIELDS) {
    const count = tokensAt(price, usage);
    if (count !== 0) picoUsd += BigInt(count) * prices[price];
  }
  return toNanoUsd(picoUsd);
}

/** Usage to be priced. `serviceTier`: the tier that the response names. */
export interface ServedUsage {
  readonly usage: TokenUsage;
  readonly serviceTier?: string | undefined;
}

export interface PricedUsage extends AppliedPrices {
  readonly costNanoUsd: NanoUsd;
  /** Loss of the operator: the amount by which the served tier costs more than the asked one. */
  readonly tierLossNanoUsd?: NanoUsd;
}

/**
 * The price for the customer: at the served tier, but never more than at the asked one. If the
 * target was sent another tier than the client asked for, or none, the default tier counts as the
 * asked one. A served tier that the table does not have costs as much as the asked one.
 */
export function priced({ priceTable, askedTier, sentTier }: AttemptTerms, served: ServedUsage): PricedUsage {
  const asked = knownTier(priceTable, askedTier);
  const sent = knownTier(priceTable, sentTier);
  const atAsked = pricedAt(asked.name === sent.name ? asked : knownTier(priceTable, undefined), served.usage);
  const tier = served.serviceTier === undefined ? undefined : tierIn(priceTable, served.serviceTier);
  if (tier === undefined) return atAsked;
  const atServed = pricedAt(tier, served.usage);
  const tierLossNanoUsd = atServed.costNanoUsd - atAsked.costNanoUsd;
  return tierLossNanoUsd > 0n ? { ...atAsked, tierLossNanoUsd } : atServed;
}

/**
 * List price: the price at the model's own table, if the organization has a price list.
 * `undefined`: the customer pays the model's own price.
 */
export function listNanoUsd(
  { ownTable, askedTier }: ListedTerms,
  sentTier: string | undefined,
  served: ServedUsage,
): NanoUsd | undefined {
  if (ownTable === undefined) return undefined;
  return priced({ priceTable: ownTable, askedTier, sentTier }, served).costNanoUsd;
}

/**
 * Amount that the provider bills, by a table of costs: at the served tier, or else at the tier that
 * the provider was sent, which the client or the operator chose.
 */
export function billedNanoUsd(costTable: PriceTable, sentTier: string | undefined, served: ServedUsage): NanoUsd {
  const named = served.serviceTier === undefined ? undefined : tierIn(costTable, served.serviceTier);
  return pricedAt(named ?? knownTier(costTable, sentTier), served.usage).costNanoUsd;
}

/** A name that the table does not know means its default tier. */
function knownTier(table: PriceTable, name: string | undefined): TableTier<TierPrices> {
  return tierIn(table, name) ?? { prices: table };
}

function pricedAt({ name, prices: { prices, above } }: TableTier<TierPrices>, usage: TokenUsage): PricedUsage {
  const entry = above.findLast(({ inputTokens }) => inputTokens < usage.promptTokens);
  const applied = entry?.prices ?? prices;
  return {
    prices: applied,
    ...(name === undefined ? {} : { pricedTier: name }),
    ...(entry === undefined ? {} : { pricedAboveTokens: entry.inputTokens }),
    costNanoUsd: chargeNanoUsd(applied, usage),
  };
}

/**
 * The most that a request can cost in any entry that it can reach: every input token at the highest
 * price for input, and every completion as long as the limit that is sent to the provider. It can
 * always reach the default tier, because a target may not be sent the asked tier.
 */
export function worstCaseNanoUsd(
  { priceTable, askedTier }: PricingTerms,
  inputTokensCeiling: number,
  outputTokens: number,
): NanoUsd {
  let picoUsd = 0n;
  for (const tier of [priceTable, knownTier(priceTable, askedTier).prices]) {
    for (const prices of reachable(tier, inputTokensCeiling)) {
      const input = BigInt(inputTokensCeiling) * highest(prices, INPUT_PRICES);
      const cost = input + BigInt(outputTokens) * highest(prices, OUTPUT_PRICES);
      if (cost > picoUsd) picoUsd = cost;
    }
  }
  return toNanoUsd(picoUsd);
}

/** Largest output limit up to `most` that fits. 0: none. Every limit below a fitting one fits. */
export function largestOutputTokens(most: number, fits: (outputTokens: number) => boolean): number {
  let [fitting, tooLong] = [0, most + 1];
  while (tooLong - fitting > 1) {
    const limit = Math.floor((fitting + tooLong) / 2);
    if (fits(limit)) fitting = limit;
    else tooLong = limit;
  }
  return fitting;
}

function reachable({ prices, above }: TierPrices, inputTokensCeiling: number): readonly Prices[] {
  return [prices, ...above.filter(({ inputTokens }) => inputTokens < inputTokensCeiling).map((one) => one.prices)];
}

function pricesAtMost(bound: 'input' | 'output'): readonly (keyof Prices)[] {
  return PRICE_FIELDS.filter((price) => PRICE_KINDS[price].atMost === bound);
}

function highest(prices: Prices, names: readonly (keyof Prices)[]): bigint {
  return names.reduce((most, name) => (prices[name] > most ? prices[name] : most), 0n);
}

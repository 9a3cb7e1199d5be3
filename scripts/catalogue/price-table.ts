import type {
  CataloguePeriod,
  CataloguePrices,
  CataloguePricesAbove,
  CatalogueTier,
  CatalogueWindow,
} from '#core/model-catalogue/catalogue-model.ts';
import { formatPico } from '#core/money.ts';
import type { MapEntry } from './litellm-map.ts';
import { offPeakOf } from './off-peak-hours.ts';
import { otherKindsOf } from './other-kinds.ts';

/** A model's prices as far as a price table has them, and the kinds that it cannot express. */
export interface SaidPrices {
  readonly table: CataloguePeriod;
  /** Empty: the table is exact. */
  readonly unsaid: readonly string[];
}

const KINDS = {
  input_cost_per_token: 'input',
  cache_read_input_token_cost: 'cached_input',
  cache_creation_input_token_cost: 'cache_write',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  // OpenAI's writes for 12 hours count as writes for an hour.
  cache_creation_input_token_cost_above_12hr: 'cache_write_1h',
  output_cost_per_token: 'output',
} as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

/** Name of a price in the map: kind, prompt length in thousands, tier. */
const PRICE_NAME =
  /^(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost(?:_above_12?hr)?)(?:_above_(\d+)k_tokens)?(?:_([a-z]+))?$/;

/** Suffixes of other endpoints, which are not service tiers. */
const ENDPOINTS = new Set(['batches', 'decisions']);
/** The tier without a name, which serves requests without `service_tier`. */
const BASE = '';
const MAX_STEPS = 8;

/** Prices by tier, by the number of prompt tokens above which they apply, by kind. */
type Priced = Map<string, Map<number, Map<Kind, number>>>;

/** `undefined`: the map has no price for this model. */
export function saidPrices(name: string, entry: MapEntry): SaidPrices | undefined {
  const priced = pricesIn(entry);
  const base = priced.get(BASE)?.get(0);
  const unsaid = otherKindsOf(name, entry);
  if (!base?.has('input')) {
    return unsaid.length === 0 ? undefined : { table: { input: 0, output: 0 }, unsaid };
  }
  const inexact = new Set(unsaid);
  if (!base.has('output')) inexact.add('no price of output');
  const tierOf = (tier: string): CatalogueTier => {
    const steps = [...(priced.get(tier)?.keys() ?? [])].filter((step) => step > 0).sort((a, b) => a - b);
    if (steps.length > MAX_STEPS) inexact.add('more than 8 lengths of prompts');
    const above = steps.map(
      (step): CataloguePricesAbove => ({ input_tokens: step, ...pricesOf(priced, tier, step, inexact) }),
    );
    return { ...pricesOf(priced, tier, 0, inexact), ...(above.length === 0 ? {} : { above }) };
  };
  const tiers = [...priced.keys()].filter((tier) => tier !== BASE).sort();
  const service_tiers = Object.fromEntries(tiers.map((tier) => [tier, tierOf(tier)]));
  const hours = hoursOf(name, entry, inexact);
  const table = {
    ...tierOf(BASE),
    ...(tiers.length === 0 ? {} : { service_tiers }),
    ...(hours.length === 0 ? {} : { hours }),
  };
  return { table, unsaid: [...inexact].sort() };
}

/** Windows of lower prices. They have no service tiers, because those of the day apply. */
function hoursOf(name: string, entry: MapEntry, inexact: Set<string>): readonly CatalogueWindow[] {
  const offPeak = offPeakOf(entry);
  if (offPeak === undefined) return [];
  const said = saidPrices(name, { ...entry, ...offPeak.prices, off_peak_pricing: undefined });
  if (said === undefined) return [];
  for (const kind of said.unsaid) inexact.add(kind);
  const { service_tiers: _, ...prices } = said.table;
  return offPeak.windows.map((window) => ({ ...window, ...prices }));
}

function pricesIn(entry: MapEntry): Priced {
  const priced: Priced = new Map();
  const add = (tier: string, step: number, kind: Kind, value: unknown) => {
    if (typeof value !== 'number') return;
    const steps = priced.get(tier) ?? new Map<number, Map<Kind, number>>();
    priced.set(tier, steps);
    steps.set(step, (steps.get(step) ?? new Map<Kind, number>()).set(kind, value));
  };
  const addAll = (members: object, from: number) => {
    for (const [name, value] of Object.entries(members)) {
      const [, kind, thousands = '0', tier = BASE] = PRICE_NAME.exec(name) ?? [];
      if (kind === undefined || ENDPOINTS.has(tier)) continue;
      add(tier, from + Number(thousands) * 1000, KINDS[kind as keyof typeof KINDS], value);
    }
  };
  addAll(entry, 0);
  for (const { range, ...members } of tieredPricing(entry)) addAll(members, range[0]);
  return priced;
}

interface Tiered {
  readonly range: readonly [number, number];
}

function tieredPricing(entry: MapEntry): readonly Tiered[] {
  return Array.isArray(entry.tiered_pricing) ? (entry.tiered_pricing as Tiered[]) : [];
}

function pricesOf(priced: Priced, tier: string, step: number, inexact: Set<string>): CataloguePrices {
  /** Without a price, LiteLLM uses the one below that length, then the one without tier. */
  const usdPerToken = (kind: Kind): number | undefined =>
    priced.get(tier)?.get(step)?.get(kind) ??
    priced.get(tier)?.get(0)?.get(kind) ??
    priced.get(BASE)?.get(step)?.get(kind) ??
    priced.get(BASE)?.get(0)?.get(kind);
  const price = (kind: Kind): number | undefined => {
    const value = usdPerToken(kind);
    if (value === undefined) return undefined;
    const exact = exactPrice(value);
    if (exact === undefined) inexact.add('more than 6 decimals');
    return exact;
  };
  const input = price('input') ?? 0;
  // A write price of 0 means that the provider has none: written tokens are billed as input.
  const write = price('cache_write') || input;
  const differing = (kind: Kind, value: number | undefined, from: number) =>
    value === undefined || value === from ? {} : { [kind]: value };
  return {
    input,
    ...differing('cached_input', price('cached_input'), input),
    ...differing('cache_write', write, input),
    ...differing('cache_write_1h', price('cache_write_1h'), write),
    output: price('output') ?? 0,
  };
}

/**
 * Significant digits of a price. Some numbers of the map were computed in binary, and end in
 * 0000000003 or 9999999996 after the sixteenth digit.
 */
const SIGNIFICANT_DIGITS = 12;
const TOKENS_PER_PRICE = 1_000_000;

/** USD per million tokens. `undefined`: it has more than 6 decimals. */
function exactPrice(usdPerToken: number): number | undefined {
  const [digits = '', exponent = '0'] = usdPerToken.toExponential(SIGNIFICANT_DIGITS - 1).split('e');
  const significand = BigInt(digits.replace('.', ''));
  // Whole pico-dollars per token are 6 decimals of USD per million tokens.
  const shift = Number(exponent) - (SIGNIFICANT_DIGITS - 1) + 12;
  const divisor = 10n ** BigInt(Math.max(-shift, 0));
  if (significand % divisor !== 0n) return undefined;
  const picoUsd = (significand * 10n ** BigInt(Math.max(shift, 0))) / divisor;
  return Number(formatPico(picoUsd * BigInt(TOKENS_PER_PRICE)));
}

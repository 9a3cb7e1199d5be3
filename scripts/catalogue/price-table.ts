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

/** A model's prices as far as a table says them, and kinds of prices that no table says. */
export interface SaidPrices {
  readonly table: CataloguePeriod;
  /** Empty: the table says the price exactly. */
  readonly unsaid: readonly string[];
}

const KINDS = {
  input_cost_per_token: 'input',
  cache_read_input_token_cost: 'cached_input',
  cache_creation_input_token_cost: 'cache_write',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  // OpenAI's writes for 12 hours are counted as those for an hour are.
  cache_creation_input_token_cost_above_12hr: 'cache_write_1h',
  output_cost_per_token: 'output',
} as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

/** Name of a price in the map: kind, length of the prompt in thousands, tier. */
const PRICE_NAME =
  /^(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost(?:_above_12?hr)?)(?:_above_(\d+)k_tokens)?(?:_([a-z]+))?$/;

/** Other endpoints, not tiers of chat completions. */
const ENDPOINTS = new Set(['batches', 'decisions']);
/** A tier without a name: what is served without `service_tier`. */
const BASE = '';
const MAX_STEPS = 8;

/** Prices by tier, by prompt tokens above which they apply, by kind. */
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

/** Windows of lower prices. A window keeps the day's service tiers, so it has none. */
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
  /** LiteLLM charges what an entry leaves out as below that length, then as without the tier. */
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
  // A write of 0 is a provider without a price of its own: the written tokens are input.
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
 * Digits of a price that count. Some numbers of the map were computed in binary and end in
 * 0000000003 or 9999999996 after the sixteenth.
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

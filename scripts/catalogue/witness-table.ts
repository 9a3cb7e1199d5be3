import { DISPUTABLE } from '#core/model-catalogue/catalogue-model.ts';
import type { ConditionalPrice, TieredPrices, WitnessModel, WitnessPrices } from './genai-prices.ts';

type Kind = (typeof DISPUTABLE)[number];
export type SaidKinds = Readonly<Partial<Record<Kind, number>>>;

/** A model's prices by the witness. Absent kinds are unknown. */
export interface WitnessTable extends SaidKinds {
  /** In ascending order. Empty: the prompt's length does not change prices. */
  readonly above: readonly (SaidKinds & { readonly input_tokens: number })[];
}

const MEMBERS: Readonly<Record<Kind, string>> = {
  input: 'input_mtok',
  cached_input: 'cache_read_mtok',
  cache_write: 'cache_write_mtok',
  output: 'output_mtok',
};

/** The price table of a day, at its most expensive hour. */
export function witnessTable({ prices }: WitnessModel, day: string): WitnessTable {
  const tables = DAYTIMES.map((time) => tableOf(pricesAt(prices, day, time)));
  return tables.reduce((highest, table) => ((table.input ?? 0) > (highest.input ?? 0) ? table : highest));
}

/** Later days on which prices change. */
export function changesAfter({ prices }: WitnessModel, day: string): readonly string[] {
  if (!isList(prices)) return [];
  const days = prices.flatMap(({ constraint }) => constraint?.start_date ?? []);
  return [...new Set(days)].filter((one) => one > day).sort();
}

const DAYTIMES = Array.from({ length: 48 }, (_, half) => {
  return `${String(Math.floor(half / 2)).padStart(2, '0')}:${half % 2 === 0 ? '00' : '30'}`;
});

function pricesAt(prices: WitnessModel['prices'], day: string, time: string): WitnessPrices {
  if (!isList(prices)) return prices;
  const holding = prices.findLast(({ constraint }) => {
    const { start_date: from, start_time: start, end_time: end } = constraint ?? {};
    if (from !== undefined) return from <= day;
    if (start === undefined || end === undefined) return true;
    return end < start ? time >= start || time < end : time >= start && time < end;
  });
  return (holding ?? prices[0])?.prices ?? {};
}

function isList(prices: WitnessModel['prices']): prices is readonly ConditionalPrice[] {
  return Array.isArray(prices);
}

function tableOf(prices: WitnessPrices): WitnessTable {
  const said = new Map(DISPUTABLE.map((kind) => [kind, prices[MEMBERS[kind]] as number | TieredPrices | undefined]));
  const starts = [...said.values()].flatMap((price) =>
    typeof price === 'object' ? price.tiers.map(({ start }) => start) : [],
  );
  const steps = [...new Set(starts)].sort((a, b) => a - b);
  const kindsAbove = (step: number): SaidKinds =>
    Object.fromEntries([...said].flatMap(([kind, price]) => (price == null ? [] : [[kind, priceAbove(price, step)]])));
  return { ...kindsAbove(0), above: steps.map((input_tokens) => ({ input_tokens, ...kindsAbove(input_tokens) })) };
}

function priceAbove(price: number | TieredPrices, step: number): number {
  if (typeof price === 'number') return price;
  return price.tiers.findLast(({ start }) => start <= step && step > 0)?.price ?? price.base;
}

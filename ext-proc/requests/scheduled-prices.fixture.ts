import fc from 'fast-check';
import type { TokenUsage } from '#core/pricing.ts';

/**
 * Prices by date and hour as they stand in a file, and what a request costs at them, calculated a
 * second time: from the file's own words, with `Date` and bigint alone.
 */

interface RawPrices {
  readonly input: number;
  readonly output: number;
  readonly cached_input?: number | undefined;
  readonly cache_write?: number | undefined;
  readonly cache_write_1h?: number | undefined;
}
interface RawTier extends RawPrices {
  readonly above?: readonly (RawPrices & { readonly input_tokens: number })[];
}
export interface RawTable extends RawTier {
  readonly service_tiers?: Readonly<Record<string, RawTier>>;
}
interface RawWindow extends RawTable {
  readonly utc: string;
  readonly days?: readonly string[] | undefined;
  readonly except?: readonly string[];
}
interface RawPeriod extends RawTable {
  readonly hours?: readonly RawWindow[];
}
export interface RawSchedule extends RawPeriod {
  readonly from?: Readonly<Record<string, RawPeriod>>;
}

interface RawPercent {
  /** Four decimals. */
  readonly percent: number;
}
/** A price list that has one model, or all of them. */
export interface RawList {
  readonly '*'?: RawPercent;
  readonly m?: RawPercent | RawSchedule;
}

const DAY_MS = 86_400_000;
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const TWINS: Readonly<Record<string, string>> = { priority: 'fast', fast: 'priority' };

/** Names of tiers that tables have. */
export const TIERS = ['priority', 'fast', 'flex', 'ultrafast'] as const;

/** All instants of the histories are in these days. */
export const FIRST_MS = Date.UTC(2026, 10, 26);
const LENGTH_DAYS = 8;
export const LENGTH_MS = LENGTH_DAYS * DAY_MS;

/** The table that holds for a request which arrives at an instant. */
export function rawTableAt(schedule: RawSchedule, atMs: number): RawTable {
  let period: RawPeriod = schedule;
  for (const [from, later] of Object.entries(schedule.from ?? {})) if (Date.parse(from) <= atMs) period = later;
  const window = (period.hours ?? []).find((one) => occurrences(one).some(([from, to]) => from <= atMs && atMs < to));
  if (window === undefined) return period;
  return { ...window, service_tiers: { ...period.service_tiers, ...window.service_tiers } };
}

/** The same for an organization that has a price list. */
export function rawTableOn(list: RawList, own: RawSchedule, atMs: number): RawTable {
  const listed = list.m ?? list['*'];
  if (listed === undefined) return rawTableAt(own, atMs);
  if (!('percent' in listed)) return rawTableAt(listed, atMs);
  const factor = 1_000_000n + BigInt(Math.round(listed.percent * 10_000));
  const changed = (price: number) => Number((picoUsd(price) * factor + 999_999n) / 1_000_000n) / 1_000_000;
  const isPrice = (name: string) => name !== 'input_tokens';
  const json = JSON.stringify(rawTableAt(own, atMs), (name, value: unknown) =>
    typeof value === 'number' && isPrice(name) ? changed(value) : value,
  );
  return JSON.parse(json) as RawTable;
}

/** Instants at which a table of the schedule may begin or end. */
export function edgesOf(schedule: RawSchedule): number[] {
  const later = schedule.from ?? {};
  const windows = [schedule, ...Object.values(later)].flatMap(({ hours = [] }) => hours);
  return [FIRST_MS, ...Object.keys(later).map((from) => Date.parse(from)), ...windows.flatMap(occurrences).flat()];
}

/** Beginning and end of a window on each day. */
function occurrences({ utc, days = DAYS, except = [] }: RawWindow): [number, number][] {
  const [start = '', end = ''] = utc.split('-');
  const found: [number, number][] = [];
  for (let day = -1; day <= LENGTH_DAYS; day++) {
    const midnight = new Date(FIRST_MS + day * DAY_MS);
    if (!days.includes(DAYS[midnight.getUTCDay()] ?? '')) continue;
    if (except.includes(midnight.toISOString().slice(0, 10))) continue;
    const at = (time: string) =>
      midnight.getTime() + Number(time.slice(0, 2)) * 3_600_000 + Number(time.slice(3)) * 60_000;
    found.push([at(start), at(end) > at(start) ? at(end) : at(end) + DAY_MS]);
  }
  return found;
}

/** The tier that a name means, if the table has it under this name or that of its twin. */
function namedTier({ service_tiers: tiers = {} }: RawTable, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  if (name in tiers) return name;
  const twin = TWINS[name];
  return twin !== undefined && twin in tiers ? twin : undefined;
}

/** Names that a request may ask a table for, the twins among them. */
export function askableTiers({ service_tiers: tiers = {} }: RawTable): string[] {
  return ['default', ...Object.keys(tiers), ...Object.keys(tiers).flatMap((tier) => TWINS[tier] ?? [])];
}

function picoUsd(usdPerMillion: number): bigint {
  return BigInt(Math.round(usdPerMillion * 1_000_000));
}

function costAt(table: RawTable, tier: string | undefined, usage: TokenUsage): bigint {
  const prices: RawTier = tier === undefined ? table : (table.service_tiers?.[tier] ?? table);
  const {
    input,
    output,
    cached_input: cached = input,
    cache_write: write = input,
    cache_write_1h: long = write,
  } = (prices.above ?? []).findLast(({ input_tokens: tokens }) => usage.promptTokens > tokens) ?? prices;
  const { promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, completionTokens } = usage;
  const sum =
    BigInt(promptTokens - cachedTokens - cacheWriteTokens) * picoUsd(input) +
    BigInt(cachedTokens) * picoUsd(cached) +
    BigInt(cacheWriteTokens - cacheWrite1hTokens) * picoUsd(write) +
    BigInt(cacheWrite1hTokens) * picoUsd(long) +
    BigInt(completionTokens) * picoUsd(output);
  return sum / 1000n + (sum % 1000n > 0n ? 1n : 0n);
}

/** Tiers by the names that the client asked for, the target was sent, and the response says. */
export interface Tiers {
  readonly asked?: string | undefined;
  readonly sent?: string | undefined;
  readonly served?: string | undefined;
}

/** Price for the customer: that of the served tier, at most of the one that was asked and sent. */
export function chargeAt(table: RawTable, { asked, sent, served }: Tiers, usage: TokenUsage): bigint {
  const [byAsked, bySent, byServed] = [asked, sent, served].map((tier) => namedTier(table, tier));
  const most = costAt(table, byAsked === bySent ? byAsked : undefined, usage);
  if (byServed === undefined && served !== 'default') return most;
  const atServed = costAt(table, byServed, usage);
  return atServed < most ? atServed : most;
}

/** Bill of the provider by a table of costs. */
export function billAt(table: RawTable, { sent, served }: Tiers, usage: TokenUsage): bigint {
  const tier = served === 'default' ? undefined : (namedTier(table, served) ?? namedTier(table, sent));
  return costAt(table, tier, usage);
}

/**
 * Usages of at most so many tokens, the most expensive one among them: a charge grows with each
 * count, but for the entries of `above`, so the prompt is as long as each of them allows.
 */
export function costliestUsages(table: RawTable, promptTokens: number, completionTokens: number): TokenUsage[] {
  const tiers: readonly RawTier[] = [table, ...Object.values(table.service_tiers ?? {})];
  const lengths = tiers.flatMap(({ above = [] }) => above.map(({ input_tokens: tokens }) => tokens));
  const kinds = ['reasoningTokens', 'cachedTokens', 'cacheWriteTokens', 'cacheWrite1hTokens'] as const;
  return [promptTokens, ...lengths.filter((length) => length < promptTokens)].flatMap((length) =>
    kinds.map((kind) => ({
      ...{ promptTokens: length, completionTokens, reasoningTokens: 0 },
      cachedTokens: kind === 'cachedTokens' ? length : 0,
      cacheWriteTokens: kind === 'cacheWriteTokens' || kind === 'cacheWrite1hTokens' ? length : 0,
      cacheWrite1hTokens: kind === 'cacheWrite1hTokens' ? length : 0,
    })),
  );
}

const price = fc.integer({ min: 0, max: 40_000_000 }).map((microUsd) => microUsd / 1_000_000);
const entry = fc.record(
  { input: price, output: price, cached_input: price, cache_write: price, cache_write_1h: price },
  { requiredKeys: ['input', 'output'] },
);
/** Prompts of the histories have up to a few hundred tokens. */
const above = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 300 }), entry), { selector: ([tokens]) => tokens, maxLength: 2 })
  .map((list) => list.toSorted(([a], [b]) => a - b).map(([tokens, prices]) => ({ input_tokens: tokens, ...prices })));
const tier = fc.tuple(entry, above).map(([prices, lengths]) => ({ ...prices, above: lengths }));
const table = fc
  .tuple(tier, fc.dictionary(fc.constantFrom(...TIERS), tier, { maxKeys: 3 }))
  .map(([prices, tiers]) => ({ ...prices, service_tiers: { ...tiers } }));

const twoDigits = (value: number) => String(value).padStart(2, '0');
const clockTime = (minute: number) => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`;
const day = fc
  .integer({ min: -1, max: LENGTH_DAYS })
  .map((index) => new Date(FIRST_MS + index * DAY_MS).toISOString().slice(0, 10));
const utc = fc
  .tuple(fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 0, max: 1440 }))
  .filter(([start, end]) => start !== end)
  .map(([start, end]) => `${clockTime(start)}-${clockTime(end)}`);
const window = fc
  .tuple(
    table,
    utc,
    fc.option(fc.uniqueArray(fc.constantFrom(...DAYS), { minLength: 1 }), { nil: undefined }),
    fc.uniqueArray(day, { maxLength: 4 }),
  )
  .map(([prices, hours, days, except]) => ({ utc: hours, days, except, ...prices }));
const period = fc
  .tuple(table, fc.array(window, { maxLength: 3 }))
  .map(([prices, hours]): RawPeriod => ({ ...prices, hours }));

const instant = fc.oneof(
  day,
  fc.integer({ min: 0, max: LENGTH_MS }).map((ms) => new Date(FIRST_MS + ms).toISOString()),
  fc
    .integer({ min: 0, max: LENGTH_MS / 1000 })
    .map((seconds) => `${new Date(FIRST_MS + seconds * 1000).toISOString().slice(0, 19)}+05:30`),
);
export const schedule = fc
  .tuple(period, fc.uniqueArray(fc.tuple(instant, period), { selector: ([from]) => Date.parse(from), maxLength: 3 }))
  .map(([first, later]): RawSchedule => {
    const ascending = later.toSorted(([a], [b]) => Date.parse(a) - Date.parse(b));
    return { ...first, from: Object.fromEntries(ascending) };
  });

const percent = fc.integer({ min: -999_999, max: 2_000_000 }).map((parts) => ({ percent: parts / 10_000 }));
export const priceList: fc.Arbitrary<RawList> = fc.record(
  { '*': percent, m: fc.oneof(percent, schedule) },
  { requiredKeys: [] },
);

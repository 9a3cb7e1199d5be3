import { DAY_MS, MINUTE_MS } from '../clock.ts';
import { instantOf, readHours } from '../config/price-schedule.ts';
import { contains } from '../price-schedule.ts';
import type { CataloguePeriod, CatalogueSchedule, CatalogueTable, CatalogueWindow } from './catalogue-model.ts';
import { pricesInWords, type TableDifference } from './price-differences.ts';

type CompareTables = (ours: CatalogueTable, theirs: CatalogueTable) => readonly TableDifference[];

/** A change of prices is reported this long before its day. */
const CHANGE_NOTICE_MS = 30 * DAY_MS;

/**
 * Compares the tables in force now, of all hours, and then those that begin within 30 days. A
 * difference that exists before such a change is not reported again for it.
 */
export function scheduleDifferences(
  ours: CatalogueSchedule,
  theirs: CatalogueSchedule,
  nowMs: number,
  compare: CompareTables,
): readonly TableDifference[] {
  const [ourPeriods, theirPeriods] = [periodsOf(ours), periodsOf(theirs)];
  const differencesAt = (atMs: number) => {
    return periodDifferences(periodAt(ourPeriods, atMs).period, periodAt(theirPeriods, atMs).period, compare);
  };
  const now = differencesAt(nowMs);
  const known = new Set(now.map((one) => JSON.stringify(one)));
  const changes = [...theirPeriods, ...ourPeriods].filter(
    ({ fromMs }) => fromMs > nowMs && fromMs <= nowMs + CHANGE_NOTICE_MS,
  );
  const byInstant = new Map(changes.map((change) => [change.fromMs, change] as const));
  const coming = [...byInstant]
    .sort(([a], [b]) => a - b)
    .flatMap(([atMs, { name }]): readonly TableDifference[] => {
      const found = differencesAt(atMs).filter((one) => !known.has(JSON.stringify(one)));
      if (found.length === 0) return [];
      const place = `from.${name}`;
      const isLacking = periodAt(ourPeriods, atMs).fromMs <= nowMs;
      if (!isLacking) return found.map((one) => ({ ...one, field: `${place}.${one.field}` }));
      return [missing(place, periodAt(theirPeriods, atMs).period)];
    });
  return [...now, ...coming];
}

interface Period {
  readonly fromMs: number;
  readonly name: string;
  readonly period: CataloguePeriod;
}

function periodsOf({ from = {}, ...first }: CatalogueSchedule): readonly [Period, ...Period[]] {
  const later = Object.entries(from).map(([name, period]) => ({ fromMs: instantOf(name) ?? Infinity, name, period }));
  return [{ fromMs: Number.NEGATIVE_INFINITY, name: '', period: first }, ...later];
}

function periodAt(periods: readonly [Period, ...Period[]], atMs: number): Period {
  return periods.findLast(({ fromMs }) => fromMs <= atMs) ?? periods[0];
}

export function periodInForce(schedule: CatalogueSchedule, nowMs: number): CataloguePeriod {
  return periodAt(periodsOf(schedule), nowMs).period;
}

function periodDifferences(
  ours: CataloguePeriod,
  theirs: CataloguePeriod,
  compare: CompareTables,
): readonly TableDifference[] {
  const pairs = windowPairs(ours.hours ?? [], theirs.hours ?? []);
  // A table that applies at no hour is not compared.
  const holds = pairs.some(([our, their]) => our === undefined && their === undefined);
  const always = holds ? compare(ours, theirs) : [];
  const known = new Set(always.map((one) => JSON.stringify(one)));
  // The table may have the lower prices, and the windows the peak prices, or vice versa.
  const isPeak = ours.input >= theirs.input;
  const byHour = pairs.flatMap(([our, their]): readonly TableDifference[] => {
    if (our === undefined && their === undefined) return [];
    const place = `hours.${(their ?? our)?.utc}`;
    if (their !== undefined && our === undefined && isPeak) return [missing(place, their)];
    return compare(duringHours(ours, our), duringHours(theirs, their))
      .filter((one) => !known.has(JSON.stringify(one)))
      .map((one) => ({ ...one, field: `${place}.${one.field}` }));
  });
  const unique = new Map(byHour.map((one) => [JSON.stringify(one), one]));
  return [...always, ...unique.values()];
}

/** A window keeps the service tiers of the day. */
function duringHours(period: CataloguePeriod, window: CatalogueWindow | undefined): CatalogueTable {
  if (window === undefined) return period;
  return { ...window, service_tiers: { ...period.service_tiers, ...window.service_tiers } };
}

function missing(field: string, table: CatalogueTable): TableDifference {
  return { field, configured: null, catalogue: pricesInWords(table) };
}

type Pair = readonly [our: CatalogueWindow | undefined, their: CatalogueWindow | undefined];

/**
 * Pairs of windows that apply at the same time, in a week without exceptions. A side may have none.
 * Days that a configuration excepts are holidays, which the catalogue does not know.
 */
function windowPairs(ours: readonly CatalogueWindow[], theirs: readonly CatalogueWindow[]): readonly Pair[] {
  const [our, their] = [ours, theirs].map((windows) =>
    windows.map((window) => ({ window, hours: readHours(window.utc, window.days) })),
  );
  const all = [...(our ?? []), ...(their ?? [])];
  const edges = new Set(all.flatMap(({ hours }) => [hours.startMinute % 1440, hours.endMinute % 1440]));
  const pairs = new Map<string, Pair>();
  for (let day = 7; day < 14; day++) {
    for (const minute of [0, ...edges]) {
      const atMs = day * DAY_MS + minute * MINUTE_MS;
      const [one, other] = [our, their].map((windows) => windows?.find(({ hours }) => contains(hours, atMs))?.window);
      pairs.set(JSON.stringify([one ?? null, other ?? null]), [one, other]);
    }
  }
  return [...pairs.values()];
}

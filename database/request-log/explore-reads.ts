import type pg from 'pg';
import type { ExploreGrouping, ExploreRank } from '#contract/explore.ts';
import type { ExploreFilter } from '#contract/explore-filter.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#core/clock.ts';
import { idFloor, idMoment } from '#core/ids.ts';
import { only, run, type Statement, sql } from '../connection/connection-pool.ts';
import { oldestRequest } from './every-request.ts';
import { type ExploreSource, exploreStatement } from './explore-sql.ts';
import { type Steps, stepsBefore, stepsOf } from './explore-steps.ts';
import { boundOfOmitted } from './omitted-count.ts';
import { KEPT_DAYS } from './request-day-stats.ts';
import { ALL_ROWS, type ChosenIndex, chooseIndex, scanEnd } from './request-indexes.ts';
import { filterValues } from './row-filter.ts';

export interface ExploreQuery {
  /** Absent: all organizations. */
  readonly organizationId?: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly by: ExploreGrouping;
  /** Absent: the groups with most spend. */
  readonly rank?: ExploreRank;
  readonly compare: boolean;
  readonly filter: ExploreFilter;
}

/** Figures of a group, or of a series in one step. */
export interface ExploreCell extends Readonly<Record<`b${number}`, number | null>> {
  /** Null: the whole range. */
  readonly step: number | null;
  /** Null: the sum of the groups that are no series. */
  readonly id: string | null;
  readonly rank: number | null;
  /** Null in rows of a step. */
  readonly groupCount: number | null;
  readonly label: string | null;
  readonly balance: string | null;
  /** Null: the sum of no rows. */
  readonly requests: number | null;
  readonly failures: number | null;
  readonly prompt: number | null;
  readonly completion: number | null;
  readonly cached: number | null;
  readonly timed_tokens: number | null;
  readonly timed_ms: number | null;
  readonly cost: string | null;
  readonly provider_cost: string | null;
  readonly known_revenue: string | null;
}

export interface Explored {
  readonly source: ExploreSource;
  readonly steps: Steps;
  readonly cells: readonly ExploreCell[];
  readonly before?: readonly ExploreCell[];
  readonly completeFromMs?: number;
}

/** Bound of rows to read: about half a second of work. */
const MOST_ROWS = 200_000;
/** Rows of one key, model or code are on scattered pages, so each costs twice as much. */
const COST_OF_SCATTERED_ROW = 2;
/** Bound of the ledger's sums by end user that one view reads. */
const MOST_SUMS = 250_000;

/**
 * Chooses the source. Sums are fast over any range, but have few fields and whole hours. Rows have
 * all fields, but are read back only to a bound. Sums are used if they have the fields and the
 * range is long or has too many rows.
 */
export async function explore(
  pool: pg.Pool,
  query: ExploreQuery,
  mostRows = MOST_ROWS,
  mostSums = MOST_SUMS,
): Promise<Explored> {
  const { fromMs, toMs } = query;
  const fine = stepsOf(fromMs, toMs, MINUTE_MS);
  const summed = () => readSums(pool, query, stepsOf(fromMs, toMs, HOUR_MS));
  if (hasSums(query) && fine.stepMs >= HOUR_MS) return summed();
  const chosen = await indexFor(pool, query, fine);
  const mostChosen = chosen === ALL_ROWS ? mostRows : Math.ceil(mostRows / COST_OF_SCATTERED_ROW);
  const boundIn = (steps: Steps) => boundOfRows(pool, query, steps, { ...chosen, mostRows: mostChosen });
  const completeFromMs = await boundIn(fine);
  if (completeFromMs === undefined) {
    const canCompare = query.compare && (await boundIn(stepsBefore(fine))) === undefined;
    return readFrom(pool, { ...query, compare: canCompare }, 'rows', fine, chosen);
  }
  if (hasSums(query)) return summed();
  const charged = isCharged(query) && toMs - fromMs >= DAY_MS ? await readLedger(pool, query, mostSums) : undefined;
  if (charged !== undefined) return charged;
  const cells = await readCells(pool, query, 'rows', fine, { chosen, fromMs: completeFromMs });
  return { source: 'rows', steps: fine, cells, completeFromMs };
}

/** Sums of requests are deleted in time. The ledger's are kept, so that money is complete. */
async function readSums(pool: pg.Pool, query: ExploreQuery, steps: Steps): Promise<Explored> {
  const keptFromMs = await sumsKeptFromMs(pool, steps.stepMs);
  const isKept = ({ startsMs, endMs }: Steps) => (startsMs[0] ?? endMs) >= keptFromMs;
  const compare = query.compare && isKept(stepsBefore(steps));
  const explored = await readFrom(pool, { ...query, compare }, sumsFor(query), steps);
  return isKept(steps) ? explored : { ...explored, completeFromMs: keptFromMs };
}

const SUMMED_UNTIL = sql('request_days_summed_until')`
  select extract(epoch from summed_until)::double precision * 1000 as "summedUntilMs" from request_days`;
/** Hourly sums are deleted by the hour, up to a day and six hours after a day was summed up. */
const DAYS_OF_HOURS = KEPT_DAYS - 2;

async function sumsKeptFromMs(pool: pg.Pool, stepMs: number): Promise<number> {
  const { summedUntilMs } = await only<{ summedUntilMs: number }>(pool, SUMMED_UNTIL, []);
  return summedUntilMs - (stepMs < DAY_MS ? DAYS_OF_HOURS : KEPT_DAYS) * DAY_MS;
}

/**
 * Sums by end user are numerous too, because each day, key, model and user has one. `undefined`:
 * not even the newest day can be read.
 */
async function readLedger(pool: pg.Pool, query: ExploreQuery, mostSums: number): Promise<Explored | undefined> {
  const steps = stepsOf(query.fromMs, query.toMs, DAY_MS);
  const source = needs(query.filter, ['users']) ? 'ledger' : 'ledger_of_users';
  const completeFromMs = await boundOfSums(pool, query, steps, mostSums);
  if (completeFromMs === steps.endMs) return undefined;
  if (completeFromMs !== undefined) {
    const cells = await readCells(pool, query, source, steps, { fromMs: completeFromMs });
    return { source, steps, cells, completeFromMs };
  }
  // Without a filter by users, the preceding range is compared by the sums of all users together.
  const isFast = source === 'ledger_of_users' || !query.compare;
  const compare = isFast ? query.compare : (await boundOfSums(pool, query, stepsBefore(steps), mostSums)) === undefined;
  return readFrom(pool, { ...query, compare }, source, steps);
}

const FIRST_UNREAD_SUM = sql('first_unread_usage_of_users')`
  select extract(epoch from day)::double precision * 1000 as "dayMs" from user_usage
    where ($1::text is null or organization_id = $1) and day >= to_timestamp($2::double precision / 1000)::date
      and day < to_timestamp($3::double precision / 1000)::date
    order by day desc offset $4::integer limit 1`;

/** The day from which on the sums can be read. */
async function boundOfSums(
  pool: pg.Pool,
  { organizationId }: ExploreQuery,
  { startsMs, endMs }: Steps,
  mostSums: number,
): Promise<number | undefined> {
  const values = [organizationId ?? null, startsMs[0] ?? endMs, endMs, mostSums];
  const [unread] = await run<{ dayMs: number }>(pool, FIRST_UNREAD_SUM, values);
  return unread && unread.dayMs + DAY_MS;
}

async function readFrom(
  pool: pg.Pool,
  query: ExploreQuery,
  source: ExploreSource,
  steps: Steps,
  chosen?: ChosenIndex,
): Promise<Explored> {
  const [cells, before] = await Promise.all([
    readCells(pool, query, source, steps, { chosen }),
    query.compare ? readCells(pool, { ...query, by: 'none' }, source, stepsBefore(steps), { chosen }) : undefined,
  ]);
  return { source, steps, cells, ...(before === undefined ? {} : { before }) };
}

async function readCells(
  pool: pg.Pool,
  { organizationId, filter, by, rank = 'cost' }: ExploreQuery,
  source: ExploreSource,
  { startsMs, endMs }: Steps,
  { chosen = ALL_ROWS, fromMs = startsMs[0] ?? endMs }: { chosen?: ChosenIndex | undefined; fromMs?: number } = {},
): Promise<readonly ExploreCell[]> {
  const shared = [organizationId ?? null, startsMs, fromMs, endMs, ...filterValues(filter)];
  const name = by.startsWith('metadata.') ? [by.slice('metadata.'.length)] : [];
  const ids = [startsMs.map((ms) => idFloor('log', ms)), idFloor('log', fromMs), idFloor('log', endMs)];
  const values = [...shared, ...(source === 'rows' ? [...ids, chosen.value, ...name] : [])];
  return run<ExploreCell>(pool, exploreStatement(source, by, rank, chosen.index), values);
}

function hasSums({ by, filter }: ExploreQuery): boolean {
  return by !== 'user' && !by.startsWith('metadata.') && !needs(filter, ['users', ...ONLY_ROWS]);
}

/** True if the ledger has the fields: it knows the charged key, model and user. */
function isCharged({ by, filter }: ExploreQuery): boolean {
  return CHARGED_GROUPS.has(by) && !needs(filter, NOT_CHARGED);
}

const CHARGED_GROUPS: ReadonlySet<ExploreGrouping> = new Set(['none', 'key', 'model', 'user', 'organization']);
const ONLY_ROWS = ['metadata', 'minCostNanoUsd', 'minDurationMs'] as const;
const NOT_CHARGED = [...ONLY_ROWS, 'codes', 'statusClasses', 'outcome', 'providers', 'streamed'] as const;

function needs(filter: ExploreFilter, fields: readonly (keyof ExploreFilter)[]): boolean {
  return fields.some((field) => {
    const value = filter[field];
    return Array.isArray(value) ? value.length > 0 : value !== undefined;
  });
}

/** Daily money and tokens come from the ledger if possible: the request log may lose rows. */
function sumsFor(query: ExploreQuery): ExploreSource {
  if (stepsOf(query.fromMs, query.toMs, HOUR_MS).stepMs < DAY_MS) return 'hours';
  return isCharged(query) ? 'days_of_ledger' : 'days';
}

type CountedRows = ChosenIndex & { readonly mostRows: number };

/** The time from which on the rows can be read. `undefined`: all of them can be read. */
async function boundOfRows(
  pool: pg.Pool,
  query: ExploreQuery,
  steps: Steps,
  counted: CountedRows,
): Promise<number | undefined> {
  const bounds = await Promise.all([
    boundOfDropped(pool, query, steps),
    boundOfMany(pool, query, steps, counted),
    boundOfOmitted(pool, query.organizationId, steps.startsMs[0] ?? steps.endMs, steps.endMs),
  ]);
  const known = bounds.filter((bound) => bound !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Finds an hour that has sums, but whose requests were dropped from the log. */
const droppedHour = (of: string, scope: string): Statement => ({
  name: `dropped_hour_of_${of}`,
  text: `select from request_stats
    where ${scope} and hour > to_timestamp($2::double precision / 1000) - interval '1 hour'
      and hour <= to_timestamp($3::double precision / 1000) - interval '1 hour' limit 1`,
});
const DROPPED_OF_ONE = droppedHour('organization', 'organization_id = $1');
const DROPPED_OF_ALL = droppedHour('all', '$1::text is null');

async function boundOfDropped(
  pool: pg.Pool,
  { organizationId }: ExploreQuery,
  { startsMs, endMs }: Steps,
): Promise<number | undefined> {
  const fromMs = startsMs[0] ?? endMs;
  const keptMs = idMoment(await oldestRequest(pool));
  if (fromMs >= keptMs) return undefined;
  // The sums below show requests that were dropped, as long as they are kept themselves.
  if (fromMs < (await sumsKeptFromMs(pool, HOUR_MS))) return keptMs;
  const statement = organizationId === undefined ? DROPPED_OF_ALL : DROPPED_OF_ONE;
  const dropped = await run(pool, statement, [organizationId ?? null, fromMs, Math.min(keptMs, endMs)]);
  return dropped.length === 0 ? undefined : keptMs;
}

/** For all organizations together there is only an index by time. */
async function indexFor(
  pool: pg.Pool,
  { organizationId, filter }: ExploreQuery,
  { startsMs, endMs }: Steps,
): Promise<ChosenIndex> {
  if (organizationId === undefined) return ALL_ROWS;
  const range = { organizationId, fromId: idFloor('log', startsMs[0] ?? endMs), beforeId: idFloor('log', endMs) };
  return chooseIndex(pool, filter, range);
}

async function boundOfMany(
  pool: pg.Pool,
  { organizationId }: ExploreQuery,
  { startsMs, endMs }: Steps,
  { index, value, mostRows }: CountedRows,
): Promise<number | undefined> {
  const fromMs = startsMs[0] ?? endMs;
  if (organizationId === undefined) return boundByHours(pool, fromMs, endMs, mostRows);
  const range = { organizationId, fromId: idFloor('log', fromMs), beforeId: idFloor('log', endMs) };
  const { scanned, lastId } = await scanEnd(pool, index, { ...range, value, rows: mostRows });
  return scanned < mostRows || lastId === null ? undefined : idMoment(lastId) + 1;
}

/** The hour in which the rows, counted from the newest, exceed the bound. */
const BUSY_HOUR = sql('busy_hour_of_requests')`
  select extract(epoch from hour)::double precision * 1000 as "hourMs", requests::double precision, total::double precision
    from (
      select hour, sum(requests) as requests, sum(sum(requests)) over (order by hour desc) as total from request_stats
      where hour > to_timestamp($1::double precision / 1000) - interval '1 hour' and hour < to_timestamp($2::double precision / 1000)
      group by hour
    ) as hours
    where total >= $3::double precision order by hour desc limit 1`;

async function boundByHours(
  pool: pg.Pool,
  fromMs: number,
  endMs: number,
  mostRows: number,
): Promise<number | undefined> {
  interface BusyHour {
    readonly hourMs: number;
    readonly requests: number;
    readonly total: number;
  }
  const [busy] = await run<BusyHour>(pool, BUSY_HOUR, [fromMs, endMs, mostRows]);
  if (busy === undefined) return undefined;
  // Assumes that the hour's requests are spread evenly.
  const boundMs = busy.hourMs + Math.ceil((HOUR_MS * (busy.total - mostRows)) / busy.requests);
  return boundMs <= fromMs ? undefined : boundMs;
}

import type pg from 'pg';
import type { OverviewGroup } from '#contract/organization.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import { loggedHours, loggedSums, moment } from '../request-log/logged-sums.ts';

/**
 * Sources of the figures. Requests, failures and percentiles: the hourly sums of the request
 * log, which may lack lines after a crash or under overload, but knows refused requests too. Money
 * and tokens: by UTC day from `daily_usage`, which is the ledger's truth and what the usage page
 * shows; by hours, for which the ledger has no sums, from the request log.
 */
export interface OverviewPeriod {
  readonly organizationId: string;
  readonly by: OverviewGroup;
  readonly stepMs: number;
  /** True if steps are UTC days. */
  readonly isDaily: boolean;
  /** Start of the first step, end of the last. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** The groups with most spend have a series each. */
const MAX_SERIES = 8;

export interface SeriesCell {
  readonly startMs: number;
  /** `null`: all other groups together. */
  readonly id: string | null;
  /** Name of the key. */
  readonly name: string | null;
  /** 1: the largest by spend. */
  readonly rank: number | null;
  readonly requests: number;
  readonly tokens: number;
  readonly cost: string;
}

/** Figures of this range and of the former one. */
export interface TotalCell {
  readonly isBefore: boolean;
  /** Error code; empty: success. */
  readonly code: string;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cost: string;
}

export interface SpendCell {
  readonly isBefore: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cost: string;
}

export interface FirstEventCell {
  readonly isBefore: boolean;
  /** Completions by time to the first event (database/schema/tables.sql). */
  readonly buckets: readonly number[];
}

/**
 * $1 is the organization, $2 the start of the range or of the one before, $3 the end; $4 is where
 * the range before ends.
 */
const [START, END, TURN] = [moment('$2'), moment('$3'), moment('$4')];
const BOTH_RANGES = `from (
    select true as "isBefore", * from (${loggedSums(START, TURN)}) as earlier
    union all
    select false, * from (${loggedSums(TURN, END)}) as later
  ) as logged`;
const DAYS = `from daily_usage where organization_id = $1 and day >= ${START}::date and day < ${END}::date`;

const TOTALS: Statement = {
  name: 'overview_totals',
  text: `select "isBefore", code, sum(requests)::double precision as requests, sum(prompt_tokens)::double precision as "promptTokens",
      sum(completion_tokens)::double precision as "completionTokens", sum(cost_nano_usd)::text as cost
    ${BOTH_RANGES} group by 1, 2`,
};

const SPEND: Statement = {
  name: 'overview_spend',
  text: `select day < ${TURN}::date as "isBefore", sum(prompt_tokens)::double precision as "promptTokens",
      sum(completion_tokens)::double precision as "completionTokens", sum(cost_nano_usd)::text as cost
    ${DAYS} group by 1`,
};

const BUCKETS = 11;
const NO_BUCKETS = `'{${Array(BUCKETS).fill(0).join(',')}}'`;
/**
 * Most rows are of failures and of reads, and have none: comparing the arrays whole is cheaper than
 * summing zeros.
 */
const FIRST_EVENTS: Statement = {
  name: 'overview_first_events',
  text: `select "isBefore", array[${Array.from(
    { length: BUCKETS },
    (_, bucket) => `sum(first_event_buckets[${bucket + 1}])::double precision`,
  ).join(', ')}] as buckets
    ${BOTH_RANGES} where first_event_buckets <> ${NO_BUCKETS} group by 1`,
};

const GROUP_COLUMN = { model: 'model', key: 'key_id' } as const satisfies Record<OverviewGroup, string>;

/** Groups below the largest are summed up here: there may be thousands of keys. */
function seriesStatement({ by, isDaily }: OverviewPeriod): Statement {
  const group = GROUP_COLUMN[by];
  const start = `date_bin($4::double precision * interval '1 millisecond', hour, ${START})`;
  const [tokens, cost] = ['sum(prompt_tokens + completion_tokens)', 'sum(cost_nano_usd)'];
  const cells = isDaily
    ? `select date_trunc('day', hour) as start, ${group} as id, sum(requests) as requests, 0 as tokens, 0 as cost
        from (${loggedSums(START, END)}) as logged group by 1, 2
      union all
      select day::timestamptz, ${group}, 0, ${tokens}, ${cost} ${DAYS} group by 1, 2`
    : `select ${start} as start, ${group} as id, sum(requests) as requests, ${tokens} as tokens, ${cost} as cost
        from (${loggedHours(START, END)}) as logged group by 1, 2`;
  return {
    name: `overview_series_by_${by}${isDaily ? '_and_day' : ''}`,
    text: `with cells as (${cells}), ranked as (
        select id, row_number() over (order by sum(cost) desc, sum(requests) desc, id) as rank
        from cells where id <> '' group by id order by rank limit ${MAX_SERIES}
      )
      select extract(epoch from c.start)::double precision * 1000 as "startMs", r.id, k.name, r.rank::integer as rank,
        sum(c.requests)::double precision as requests, sum(c.tokens)::double precision as tokens, sum(c.cost)::text as cost
      from cells c left join ranked r on r.id = c.id left join keys k on k.id = r.id
      group by c.start, r.id, k.name, r.rank`,
  };
}

export interface OverviewCells {
  readonly series: readonly SeriesCell[];
  readonly totals: readonly TotalCell[];
  /** Given for steps of days: instead of what `totals` say of money and tokens. */
  readonly spend?: readonly SpendCell[];
  readonly firstEvents: readonly FirstEventCell[];
}

export async function readOverview(pool: pg.Pool, period: OverviewPeriod): Promise<OverviewCells> {
  const { organizationId, fromMs, toMs, stepMs, isDaily } = period;
  const bothRanges = [organizationId, fromMs - (toMs - fromMs), toMs, fromMs];
  const [series, totals, firstEvents, spend] = await Promise.all([
    run<SeriesCell>(pool, seriesStatement(period), [organizationId, fromMs, toMs, ...(isDaily ? [] : [stepMs])]),
    run<TotalCell>(pool, TOTALS, bothRanges),
    run<FirstEventCell>(pool, FIRST_EVENTS, bothRanges),
    isDaily ? run<SpendCell>(pool, SPEND, bothRanges) : undefined,
  ]);
  return { series, totals, firstEvents, ...(spend === undefined ? {} : { spend }) };
}

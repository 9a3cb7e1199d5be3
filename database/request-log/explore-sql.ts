import type { ExploreGrouping, ExploreRank } from '#contract/explore.ts';
import type { UnpreparedStatement } from '../connection/connection-pool.ts';
import { ALL_ROWS, type RequestIndex } from './request-indexes.ts';
import { FILTER_VALUES, filterSql, omittedRows, STATUS_CLASS } from './row-filter.ts';

/**
 * SQL of the explorer. $1 is the organization (null: all), $2 the starts of the steps in Unix
 * milliseconds, $3 and $4 are the range. The values of the filter come next. For rows, these are
 * followed by steps and range as ids, the value for the index, and the name of the metadata by
 * which requests are grouped.
 */

/** `ledger`: sums of charges by end user. `ledger_of_users`: the same without a user filter. */
export type ExploreSource = 'rows' | 'hours' | 'days' | 'days_of_ledger' | 'ledger' | 'ledger_of_users';

export const SERIES = 8;
const MOST_GROUPS = 100;
const BUCKETS = Array.from({ length: 11 }, (_, bucket) => bucket);
/** Upper bounds of the buckets (database/schema/tables.sql) plus one. */
const BUCKET_ENDS = 'array[51, 101, 201, 401, 801, 1601, 3201, 6401, 12801, 25601]';

/** Figures of a cell by name, with an SQL expression for each. */
type Figure = (typeof FIGURES)[number];
type Figures = Readonly<Record<Figure, string>>;
const FIGURES = [
  'requests',
  'failures',
  'prompt',
  'completion',
  'cached',
  'cost',
  'provider_cost',
  'known_revenue',
  'timed_tokens',
  'timed_ms',
  ...(BUCKETS.map((bucket) => `b${bucket}`) as readonly `b${number}`[]),
] as const;

const NONE: Figures = Object.fromEntries(FIGURES.map((figure) => [figure, '0'])) as Figures;

/** Streams whose speed is known. */
const TIMED = 'where streamed and code is null and completion_tokens > 0 and duration_ms > first_event_ms';

const OF_ROWS: Figures = {
  ...NONE,
  requests: 'count(*)',
  failures: 'count(code)',
  prompt: 'sum(prompt_tokens)',
  completion: 'sum(completion_tokens)',
  cached: 'sum(cached_tokens)',
  cost: 'sum(cost_nano_usd)',
  provider_cost: 'sum(provider_cost_nano_usd)',
  known_revenue: 'sum(cost_nano_usd) filter (where provider_cost_nano_usd is not null)',
  timed_tokens: `sum(completion_tokens) filter (${TIMED})`,
  timed_ms: `sum(duration_ms - first_event_ms) filter (${TIMED})`,
  ...Object.fromEntries(BUCKETS.map((bucket) => [`b${bucket}`, `count(*) filter (where bucket = ${bucket})`])),
};

const OF_OMITTED: Figures = { ...NONE, requests: 'sum(requests)', failures: `sum(requests) filter (where code <> '')` };

const OF_LEDGER: Figures = {
  ...NONE,
  prompt: 'sum(prompt_tokens)',
  completion: 'sum(completion_tokens)',
  cached: 'sum(cached_tokens)',
  cost: 'sum(cost_nano_usd)',
};

const OF_CHARGES: Figures = { ...OF_LEDGER, requests: 'sum(requests)' };

const OF_SUMS: Figures = {
  ...OF_CHARGES,
  failures: `sum(requests) filter (where code <> '')`,
  provider_cost: 'sum(provider_cost_nano_usd)',
  known_revenue: 'sum(known_revenue_nano_usd)',
  ...Object.fromEntries(BUCKETS.map((bucket) => [`b${bucket}`, `sum(first_event_buckets[${bucket + 1}])`])),
};

/** Daily figures without money and tokens, which come from the ledger. */
const OF_DAYS_BESIDE_LEDGER: Figures = { ...OF_SUMS, prompt: '0', completion: '0', cached: '0', cost: '0' };

const FIRST_FILTER = 5;
/** Parameters that only rows have. */
const [IDS, FROM_ID, END_ID, VALUE = '', NAME] = [0, 1, 2, 3, 4].map(
  (place) => `$${FIRST_FILTER + FILTER_VALUES + place}`,
);
const FILTER = filterSql(FIRST_FILTER);
const OWN = '($1::text is null or organization_id = $1)';
const [FROM, END] = ['to_timestamp($3::double precision / 1000)', 'to_timestamp($4::double precision / 1000)'];
const STEP_OF_MINUTE = 'width_bucket((minute * 60000)::double precision, $2::double precision[]) - 1';
/** Compares timestamps: `extract` per row returns numerics, which cost more than the rest. */
const STARTS =
  'array(select to_timestamp(ms / 1000) from unnest($2::double precision[]) with ordinality s (ms, n) order by n)';
const STEP_OF_START = `width_bucket(start, ${STARTS}) - 1`;

/** Adds the columns that sums lack but the filter uses. */
const LACKING = `model <> '' as model_known, null as end_user, null::jsonb as metadata, null::bigint as duration_ms`;
const sumsIn = (table: string, from: string, end: string) =>
  `select s.*, hour as start, ${LACKING} from ${table} s where ${OWN} and hour >= ${from} and hour < ${end}`;
const BY_HOUR = sumsIn('request_stats', FROM, END);
const SUMMED_UNTIL = '(select summed_until::timestamptz from request_days)';
/** Whole UTC days from the sums by day, and from hours for days that are not summed up yet. */
const BY_DAY = `${sumsIn('request_day_stats', FROM, `least(${END}, ${SUMMED_UNTIL})`)}
    union all ${sumsIn('request_stats', `greatest(${FROM}, ${SUMMED_UNTIL})`, END)}`;

const CHARGED = `day::timestamptz as start, null as code, 200 as status, null as provider, false as streamed, true as model_known,
  null::jsonb as metadata, null::bigint as duration_ms`;
const OF_DAY = `${OWN} and day >= ${FROM}::date and day < ${END}::date`;
const CHARGED_FIGURES = ['requests', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'cost_nano_usd'];
const charged = (sign: '' | '-') => CHARGED_FIGURES.map((column) => `${sign}${column} as ${column}`).join(', ');
const usage = (table: string, user: string, sign: '' | '-') =>
  `select organization_id, key_id, model, ${user} as end_user, ${CHARGED}, ${charged(sign)} from ${table} where ${OF_DAY}`;
const CHARGED_DAYS = usage('daily_usage', 'null::text', '');
/** Requests without a user are the total less those of all users. */
const CHARGED_BY_USER = [
  usage('user_usage', 'end_user', ''),
  usage('user_usage', 'null', '-'),
  usage('daily_usage', 'null', ''),
].join(' union all ');

function groupOf(by: ExploreGrouping): string {
  if (by.startsWith('metadata.')) return `coalesce(metadata ->> ${NAME}::text, '')`;
  const columns: Readonly<Record<string, string>> = {
    none: `''`,
    key: 'key_id',
    model: `case when model_known then model else '' end`,
    code: `coalesce(code, '')`,
    status: STATUS_CLASS,
    user: `coalesce(end_user, '')`,
    provider: `coalesce(provider, '')`,
    organization: 'organization_id',
  };
  return columns[by] ?? `''`;
}

/** The query of a source: the figures `names` by group, or by group and step. */
interface Asked {
  readonly group: string;
  readonly isStepped: boolean;
  readonly names: readonly Figure[];
}

type Sums = (figures: Figures, text: string) => string;

/** Charges without a user: the total less all users' sums, which are read only once. */
function ofAllUsers({ group, names }: Asked, sums: Sums): string {
  const all = sums(OF_CHARGES, CHARGED_DAYS);
  if (group === `''`) return all;
  return `(
    with users as materialized (${sums(OF_CHARGES, usage('user_usage', 'end_user', ''))})
    select * from users
    union all select step, ${group}, ${names.map((name) => `-${name}`).join(', ')} from (select *, null as end_user from users) as users
    union all ${all}
  )`;
}

function cellsOf(source: ExploreSource, asked: Asked, index: RequestIndex): string {
  const { group, isStepped, names } = asked;
  const cells = (step: string, figures: Figures, from: string) => `
    select ${isStepped ? step : 'null'} as step, ${group} as grp, ${names.map((name) => `${figures[name]} as ${name}`).join(', ')}
    from ${from} where ${FILTER} group by 1, 2`;
  const sums: Sums = (figures, text) => cells(STEP_OF_START, figures, `(${text}) as summed`);
  if (source === 'hours') return sums(OF_SUMS, BY_HOUR);
  if (source === 'days') return sums(OF_SUMS, BY_DAY);
  if (source === 'days_of_ledger')
    return `${sums(OF_DAYS_BESIDE_LEDGER, BY_DAY)} union all ${sums(OF_LEDGER, CHARGED_DAYS)}`;
  if (source === 'ledger') return sums(OF_CHARGES, CHARGED_BY_USER);
  if (source === 'ledger_of_users') return ofAllUsers(asked, sums);
  const rows = `(
      select *, width_bucket(first_event_ms, ${BUCKET_ENDS}) as bucket from request_log
      where ${OWN} and id >= ${FROM_ID} and id < ${END_ID} and ${index.condition(VALUE)}
    ) as logged`;
  const minutes = 'minute >= floor($3::double precision / 60000) and minute < ceil($4::double precision / 60000)';
  const omitted = omittedRows(`${OWN} and ${minutes}`);
  return `${cells(`width_bucket(id, ${IDS}::text[]) - 1`, OF_ROWS, rows)}
    union all ${cells(STEP_OF_MINUTE, OF_OMITTED, omitted)}`;
}

const LABELS: Readonly<Record<string, string>> = {
  key: '(select name from keys where id = grp)',
  organization: '(select name from organizations where id = grp)',
};
const BALANCE = '(select balance_nano_usd::text from accounts where organization_id = grp)';

const sumsOf = (table: string) => FIGURES.map((figure) => `sum(${table}.${figure}) as ${figure}`).join(', ');
const SHOWN = FIGURES.map((figure) =>
  ['cost', 'provider_cost', 'known_revenue'].includes(figure) ? `${figure}::text` : `${figure}::double precision`,
).join(', ');

/** Figures whose sum makes a group large. */
const RANKED: Readonly<Record<ExploreRank, readonly Figure[]>> = {
  cost: ['cost'],
  requests: ['requests'],
  failures: ['failures'],
  tokens: ['prompt', 'completion'],
};

/**
 * Returns the largest groups with their totals, and the first of them step by step.
 * Rows are read through `index`, by which they were counted, because the filter's conditions alone
 * may not use it.
 *
 * Clients choose users and metadata values, so there may be thousands of groups. Computing a cell
 * for each group and step would cost more than reading twice, the first time to find the displayed
 * groups.
 */
export function exploreStatement(
  source: ExploreSource,
  by: ExploreGrouping,
  rank: ExploreRank,
  index: RequestIndex = ALL_ROWS.index,
): UnpreparedStatement {
  const group = groupOf(by);
  const isNamedByClients = by === 'user' || by.startsWith('metadata.');
  const ranked = RANKED[rank];
  const sizes = { group, isStepped: false, names: [...new Set<Figure>(['requests', 'cost', ...ranked])] };
  const size = ranked.map((name) => `coalesce(sum(${name}), 0)`).join(' + ');
  const bySize = `${size} desc, coalesce(sum(cost), 0) desc, sum(requests) desc, grp`;
  const shown = isNamedByClients ? `case when ${group} in (select grp from shown) then ${group} end` : group;
  const findShown = `shown as materialized (
        select grp, count(*) over () as group_count from (${cellsOf(source, sizes, index)}) as parts
        group by grp order by ${bySize} limit ${MOST_GROUPS}
      ), `;
  const text = `
    with ${isNamedByClients ? findShown : ''}cells as materialized (
        select step, grp, ${sumsOf('parts')}
        from (${cellsOf(source, { group: shown, isStepped: true, names: FIGURES }, index)}) as parts group by 1, 2
      ), ranked as (
        select grp, ${isNamedByClients ? '(select max(group_count) from shown)' : 'count(*) over ()'} as group_count,
          row_number() over (order by ${bySize}) as rank, ${sumsOf('cells')}
        from cells where grp is not null group by grp
      )
      select null::integer as step, grp as id, rank::integer, group_count::integer as "groupCount", ${LABELS[by] ?? 'null'} as label,
        ${by === 'organization' ? BALANCE : 'null'} as balance, ${SHOWN}
      from ranked where rank <= ${MOST_GROUPS}
      union all
      select step, id, rank, null, null, null, ${SHOWN} from (
        select c.step, case when r.rank <= ${SERIES} then c.grp end as id, case when r.rank <= ${SERIES} then r.rank::integer end as rank,
          ${sumsOf('c')}
        from cells c left join ranked r on r.grp = c.grp group by 1, 2, 3
      ) as stepped`;
  return { text };
}

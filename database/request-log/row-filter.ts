import type { ExploreFilter } from '#contract/explore-filter.ts';

/** The filter fields that are compared with each row. Times and ids select the range instead. */
export type RowFilter = Omit<ExploreFilter, 'fromMs' | 'toMs'>;

export const STATUS_CLASS = `case when status = 499 then '499' else status / 100 || 'xx' end`;

/**
 * SQL for each field: true if a row matches the parameter, or if the parameter is null. A missing
 * condition does not compile. Other tables than `request_log` can be filtered with their missing
 * columns added.
 */
const CONDITIONS: Readonly<Record<keyof RowFilter, (parameter: string) => string>> = {
  keys: anyOf('key_id'),
  models: (parameter) => `${parameter}::text[] is null or model = any (${parameter}::text[])
    or (not model_known and '' = any (${parameter}::text[]))`,
  codes: anyOf(`coalesce(code, '')`),
  statusClasses: anyOf(STATUS_CLASS),
  outcome: (parameter) => `${parameter}::text is null
    or case ${parameter} when 'failed' then coalesce(code, '') <> '' else coalesce(code, '') = '' and status < 400 end`,
  users: anyOf(`coalesce(end_user, '')`),
  // For each name, the row must have one of the accepted values.
  metadata: (parameter) => `${parameter}::jsonb is null or not exists (
      select from jsonb_each(${parameter}::jsonb) as wanted (name, accepted)
      where not accepted ? coalesce(metadata ->> wanted.name, '')
    )`,
  providers: anyOf(`coalesce(provider, '')`),
  organizations: anyOf('organization_id'),
  streamed: (parameter) => `${parameter}::boolean is null or streamed = ${parameter}`,
  minCostNanoUsd: (parameter) => `${parameter}::bigint is null or cost_nano_usd >= ${parameter}::bigint`,
  minDurationMs: (parameter) => `${parameter}::bigint is null or duration_ms >= ${parameter}::bigint`,
};

function anyOf(value: string) {
  return (parameter: string) => `${parameter}::text[] is null or ${value} = any (${parameter}::text[])`;
}

/**
 * Bound of rows of omitted requests that are read, newest first. 144,000 is one day of a hundred
 * keys that are refused for one reason each: 100 keys x 1,440 minutes.
 */
export const MAX_OMITTED_ROWS = 150_000;

/** Omitted requests of a range, with the columns of the request log that the filter uses. */
export const omittedRows = (range: string): string => `(
    select organization_id, minute, key_id, model, model <> '' as model_known, code, status, requests, null as provider, false as streamed,
      null as end_user, null::jsonb as metadata, null::bigint as cost_nano_usd, null::bigint as duration_ms
    from omitted_requests where ${range} order by minute desc limit ${MAX_OMITTED_ROWS}
  ) as omitted`;

const FIELDS = Object.keys(CONDITIONS).toSorted() as (keyof RowFilter)[];

/** SQL of the conditions on all fields. `firstParameter` is the number of the first value. */
export function filterSql(firstParameter: number): string {
  return FIELDS.map((field, index) => `(${CONDITIONS[field](`$${firstParameter + index}`)})`).join(' and ');
}

export const FILTER_VALUES = FIELDS.length;

/** Values for `filterSql`, in its order. An empty list does not filter. */
export function filterValues(filter: RowFilter): readonly unknown[] {
  const { metadata = [] } = filter;
  const values = { ...filter, metadata: metadata.length === 0 ? null : JSON.stringify(acceptedByName(metadata)) };
  return FIELDS.map((field) => {
    const value = values[field];
    return Array.isArray(value) && value.length === 0 ? null : (value ?? null);
  });
}

function acceptedByName(metadata: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const pairs = metadata.map((text) => {
    const end = text.indexOf('=');
    return end < 0 ? ([text, ''] as const) : ([text.slice(0, end), text.slice(end + 1)] as const);
  });
  const byName = Map.groupBy(pairs, ([name]) => name);
  return Object.fromEntries([...byName].map(([name, ofName]) => [name, ofName.map(([, value]) => value)]));
}

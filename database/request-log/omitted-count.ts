import type pg from 'pg';
import type { ExploreFilter } from '#contract/explore.ts';
import { MINUTE_MS } from '#core/clock.ts';
import { idMoment } from '#core/ids.ts';
import { run, sql } from '../connection/connection-pool.ts';
import { filterSql, filterValues, omittedRows } from './row-filter.ts';

const COUNT = sql('count_left_out_requests')`
  select coalesce(sum(left_out), 0)::text as "leftOut"
    from ${omittedRows('($1::text is null or organization_id = $1) and minute >= $2 and minute < $3')}
    where ${filterSql(4)}`;

export interface OmittedQuery extends ExploreFilter {
  /** Absent: of all organizations. */
  readonly organizationId?: string;
  /** Id of a request: only newer ones are counted. */
  readonly after?: string;
}

/** Number of omitted requests that match, in the minutes that the filter touches. */
export async function countOmitted(pool: pg.Pool, query: OmittedQuery): Promise<number> {
  const { organizationId, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, after } = query;
  const sinceMs = Math.max(fromMs, after === undefined ? 0 : idMoment(after));
  const minutes = [Math.floor(sinceMs / MINUTE_MS), Math.ceil(toMs / MINUTE_MS)];
  const values = [organizationId ?? null, ...minutes, ...filterValues(query)];
  const [row] = await run<{ leftOut: string }>(pool, COUNT, values);
  return Number(row?.leftOut ?? 0);
}

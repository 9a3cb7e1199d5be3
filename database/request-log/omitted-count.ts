import type pg from 'pg';
import type { ExploreFilter } from '#contract/explore-filter.ts';
import type { RequestPage } from '#contract/request-log.ts';
import { MINUTE_MS } from '#core/clock.ts';
import { idMoment } from '#core/ids.ts';
import { only, run, sql } from '../connection/connection-pool.ts';
import { filterSql, filterValues, MAX_OMITTED_ROWS, omittedRows } from './row-filter.ts';

const RANGE = '($1::text is null or organization_id = $1) and minute >= $2 and minute < $3';
const COUNT = sql('count_omitted_requests')`
  select coalesce(sum(requests) filter (where ${filterSql(4)}), 0)::text as "leftOut",
      count(*)::integer as read, min(minute)::double precision as "oldestMinute"
    from ${omittedRows(RANGE)}`;
const FIRST_UNREAD = sql('first_unread_omitted')`
  select minute::double precision from omitted_requests where ${RANGE}
    order by minute desc offset ${MAX_OMITTED_ROWS} limit 1`;

export interface OmittedQuery extends ExploreFilter {
  /** Absent: all organizations. */
  readonly organizationId?: string;
  /** Id of a request. Only newer requests are counted. */
  readonly after?: string;
}

/** `leftOutSinceMs`: present if there were too many to count before this time. */
export type OmittedCount = Pick<RequestPage, 'leftOut' | 'leftOutSinceMs'>;

/** Counts the omitted requests that match, in the minutes of the filter's range. */
export async function countOmitted(pool: pg.Pool, query: OmittedQuery): Promise<OmittedCount> {
  const { organizationId, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, after } = query;
  const sinceMs = Math.max(fromMs, after === undefined ? 0 : idMoment(after));
  const values = [organizationId ?? null, ...minutesOf(sinceMs, toMs), ...filterValues(query)];
  interface Counted {
    readonly leftOut: string;
    readonly read: number;
    readonly oldestMinute: number | null;
  }
  const { leftOut, read, oldestMinute } = await only<Counted>(pool, COUNT, values);
  if (read < MAX_OMITTED_ROWS) return { leftOut: Number(leftOut) };
  return { leftOut: Number(leftOut), leftOutSinceMs: ((oldestMinute ?? 0) + 1) * MINUTE_MS };
}

/** The time from which on omitted requests can be read. `undefined`: all of them can be read. */
export async function boundOfOmitted(
  pool: pg.Pool,
  organizationId: string | undefined,
  fromMs: number,
  toMs: number,
): Promise<number | undefined> {
  const values = [organizationId ?? null, ...minutesOf(fromMs, toMs)];
  const [unread] = await run<{ minute: number }>(pool, FIRST_UNREAD, values);
  return unread && (unread.minute + 1) * MINUTE_MS;
}

function minutesOf(fromMs: number, toMs: number): readonly number[] {
  return [Math.floor(fromMs / MINUTE_MS), Math.ceil(toMs / MINUTE_MS)];
}

import type pg from 'pg';
import { MINUTE_MS } from '../../core/clock.ts';
import { idMoment } from '../../core/ids.ts';
import type { RequestFilter } from '../../dashboard/contract/request-log.ts';
import { run, type Statement } from '../connection/connection-pool.ts';

/**
 * Rows that are looked at, the newest first: a day of a hundred keys that are refused for one
 * reason each.
 */
const MOST_ROWS = 150_000;

const COUNT: Statement = {
  name: 'count_left_out_requests',
  text: `select coalesce(sum(left_out), 0)::text as "leftOut"
    from (
      select left_out from left_out_requests
      where organization_id = $1 and minute >= $2 and minute < $3
        and ($4::text is null or key_id = $4) and ($5::text is null or model = $5) and ($6::text is null or code = $6)
        and ($7::smallint is null or status = $7) and ($8::text is null or ($8 = 'failed' and code <> ''))
      order by minute desc limit ${MOST_ROWS}
    ) as found`,
};

export interface OmittedQuery extends Omit<RequestFilter, 'search'> {
  readonly organizationId: string;
  /** Only newer ones than that id. */
  readonly after?: string;
}

/** Number of omitted requests that match, in the minutes that the filter touches. */
export async function countOmitted(pool: pg.Pool, query: OmittedQuery): Promise<number> {
  const {
    organizationId,
    fromMs = 0,
    toMs = Number.MAX_SAFE_INTEGER,
    after,
    key,
    model,
    code,
    status,
    outcome,
  } = query;
  const sinceMs = Math.max(fromMs, after === undefined ? 0 : idMoment(after));
  const minutes = [Math.floor(sinceMs / MINUTE_MS), Math.ceil(toMs / MINUTE_MS)];
  const filters = [key ?? null, model ?? null, code ?? null, status ?? null, outcome ?? null];
  const [row] = await run<{ leftOut: string }>(pool, COUNT, [organizationId, ...minutes, ...filters]);
  return Number(row?.leftOut ?? 0);
}

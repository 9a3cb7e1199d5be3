import type pg from 'pg';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';
import { idFloor, idMoment } from '#core/ids.ts';
import { pageOf } from '#core/page-of.ts';
import { only, records, sql } from '../connection/connection-pool.ts';
import { REQUEST_COLUMNS, type RequestRow } from './request-columns.ts';
import { END, earlier, type FoundRequests, later, PATIENCE_MS, type RequestPageQuery } from './request-pages.ts';
import { filterSql, filterValues } from './row-filter.ts';

/**
 * No index sorts the rows of all organizations. So a page is searched in windows of time, newest
 * first, and the rows of each are sorted. The next window is longer if the last one took little
 * time.
 */
const FIRST_WINDOW_MS = MINUTE_MS;
const WINDOW_GROWTH = 4;
const LONGEST_WINDOW_MS = 4 * DAY_MS;

const WINDOW = sql('requests_of_all_organizations')`
  select ${REQUEST_COLUMNS}, p.organization_id as "organizationId", o.name as "organizationName"
    from (
      select * from request_log where id >= $1 and id < $2 and ${filterSql(4)} order by id desc limit $3
    ) as p left join keys k on k.id = p.key_id left join organizations o on o.id = p.organization_id
    order by p.id desc`;

/**
 * A bound of the oldest request: the first day that has a partition, or the oldest row in the
 * default partition. Finding the smallest id of the whole log took half a second for a million rows
 * (measured).
 */
const OLDEST = sql('oldest_request')`
  select
      (select min(id) from request_log_other) as id,
      (select min(right(c.relname, 10)) from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'request_log'::regclass and c.relname <> 'request_log_other') as day`;

/** A text that sorts before every id of the log, and after ids of dropped days. */
export async function oldestRequest(pool: pg.Pool): Promise<string> {
  const { id, day } = await only<{ id: string | null; day: string | null }>(pool, OLDEST, []);
  const firstDay = day === null ? END : idFloor('log', Date.parse(day.replaceAll('_', '-')));
  return earlier(firstDay, id ?? END);
}

/** Finds one page of the request log of all organizations. No window begins after `patienceMs`. */
export async function findEveryRequest(
  pool: pg.Pool,
  { fromMs, toMs, before = END, after, limit, ...filter }: Omit<RequestPageQuery, 'organizationId'>,
  patienceMs: number = PATIENCE_MS,
): Promise<FoundRequests> {
  const fromId = later(idFloor('log', fromMs ?? 0), after === undefined ? '' : `${after}0`);
  let beforeId = earlier(before, toMs === undefined ? END : idFloor('log', toMs));
  const endId = later(fromId, await oldestRequest(pool));
  const rows: RequestRow[] = [];
  const startMs = performance.now();
  for (let windowMs = FIRST_WINDOW_MS; ; ) {
    const stepMs = performance.now();
    const endMs = beforeId === END ? Date.now() : idMoment(beforeId);
    const lowId = later(fromId, idFloor('log', endMs - windowMs));
    rows.push(
      ...(await records<RequestRow>(pool, WINDOW, [lowId, beforeId, limit + 1 - rows.length, ...filterValues(filter)])),
    );
    if (rows.length > limit) return pageOf(rows, limit, ({ id }) => id);
    if (lowId <= endId) return { rows };
    beforeId = lowId;
    const nowMs = performance.now();
    if (nowMs - startMs >= patienceMs) return { rows, next: beforeId, searchedToMs: idMoment(beforeId) };
    const grows = (nowMs - stepMs) * WINDOW_GROWTH <= patienceMs;
    windowMs = grows ? Math.min(windowMs * WINDOW_GROWTH, LONGEST_WINDOW_MS) : windowMs;
  }
}

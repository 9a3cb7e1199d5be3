import type pg from 'pg';
import { DAY_MS } from '../../core/clock.ts';
import { idFloor, idMoment } from '../../core/ids.ts';
import type { RequestFilter } from '../../dashboard/contract/request-log.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import { REQUEST_COLUMNS, type RequestRow } from './request-columns.ts';
import { chooseSource, type Source, type Walk } from './request-sources.ts';
import { type FilterConditions, filterSql, filterValues } from './row-filter.ts';

const CONDITIONS: FilterConditions = {
  key: (key) => `${key}::text is null or key_id = ${key}`,
  model: (model) => `${model}::text is null or model = ${model}`,
  code: (code) => `${code}::text is null or code = ${code}`,
  status: (status) => `${status}::smallint is null or status = ${status}`,
  outcome: (outcome) => `${outcome}::text is null or (${outcome} = 'failed' and code is not null)
    or (${outcome} = 'succeeded' and code is null and status < 400)`,
};

/** All of it must hold. */
export interface RequestQuery extends Omit<RequestFilter, 'search'> {
  readonly organizationId: string;
  /** Only older ones than that id. */
  readonly before?: string;
  /** Only newer ones than that id. */
  readonly after?: string;
  readonly limit: number;
}

export interface FoundRequests {
  /** Newest first. */
  readonly rows: readonly RequestRow[];
  /** To be given as `before`; absent: there are no older ones. */
  readonly next?: string;
  /**
   * Given where the search was broken off before the page was full: so far back everything was
   * looked at.
   */
  readonly searchedToMs?: number;
}

/**
 * A filter with no index of its own may match one row in millions. So a page is walked in steps of
 * at most so many rows of the index that fits best, as long as patience lasts; each step is at most
 * twice the one before.
 */
const FIRST_STEP_ROWS = 2_000;
const MOST_STEP_ROWS = 8_000;
const STEP_GROWTH = 2;
/** With the last step, which may take as long again, this stays well below what people notice. */
const PATIENCE_MS = 80;
/** Sorts behind every id. */
const END = 'log-~';
/**
 * Most pages are full with this: the partitions of a year need not even be planned for then (65 ms
 * of 366, measured).
 */
const RECENT_MS = 2 * DAY_MS;

/**
 * The inner limit bounds what is looked at, the middle one what is found; names are looked up for
 * those alone.
 */
function pageStatement({ name, condition }: Source): Statement {
  return {
    name: `requests_by_${name}`,
    text: `select p.*, k.name as key_name, k.last4 as key_last4
      from (
        select * from (
          select ${REQUEST_COLUMNS} from request_log
          where organization_id = $1 and id >= $2 and id < $3 and ${condition} order by id desc limit $4
        ) as walked
        where ${filterSql(CONDITIONS, 7)}
        order by id desc limit $6
      ) as p left join keys k on k.id = p.key_id
      order by p.id desc`,
  };
}

/** One page of the request log. `patienceMs`: after it no further step is begun. */
export async function findRequests(
  pool: pg.Pool,
  query: RequestQuery,
  patienceMs: number = PATIENCE_MS,
): Promise<FoundRequests> {
  const { organizationId, fromMs, toMs, before = END, after, limit } = query;
  const range = {
    organizationId,
    // No id sorts between an id and the same with one more character.
    fromId: later(idFloor('log', fromMs ?? 0), after === undefined ? '' : `${after}0`),
    beforeId: earlier(before, toMs === undefined ? END : idFloor('log', toMs)),
  };
  const { source, value, extent } = await chooseSource(pool, query, range);
  const statement = pageStatement(source);
  const rows: RequestRow[] = [];
  const startMs = performance.now();
  let walk: Walk = { ...range, fromId: later(range.fromId, recentFrom(range.beforeId)), value, rows: FIRST_STEP_ROWS };
  for (;;) {
    const stepMs = performance.now();
    rows.push(...(await run<RequestRow>(pool, statement, pageValues(walk, query, limit + 1 - rows.length))));
    const last = rows.at(limit - 1);
    if (rows.length > limit && last !== undefined) return { rows: rows.slice(0, limit), next: last.id };
    const { walked, lastId } = await extent(walk);
    if (walked < walk.rows || lastId === null) {
      if (walk.fromId === range.fromId) return { rows };
      walk = { ...walk, fromId: range.fromId, beforeId: walk.fromId };
      continue;
    }
    // Rows that arrived in between have moved the end of the second walk.
    const beforeId = earlier(lastId, rows.at(-1)?.id ?? END);
    const nowMs = performance.now();
    if (nowMs - startMs >= patienceMs) return { rows, next: beforeId, searchedToMs: idMoment(beforeId) };
    const grows = (nowMs - stepMs) * STEP_GROWTH <= patienceMs;
    walk = { ...walk, beforeId, rows: grows ? Math.min(walk.rows * STEP_GROWTH, MOST_STEP_ROWS) : walk.rows };
  }
}

function recentFrom(beforeId: string): string {
  const endMs = beforeId === END ? Date.now() : idMoment(beforeId);
  return idFloor('log', Math.max(0, endMs - RECENT_MS));
}

function pageValues(walk: Walk, query: RequestQuery, limit: number): unknown[] {
  const { organizationId, fromId, beforeId, rows, value } = walk;
  return [organizationId, fromId, beforeId, rows, value, limit, ...filterValues(CONDITIONS, query)];
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

import type pg from 'pg';
import type { RequestPageInput } from '#contract/request-log.ts';
import { DAY_MS } from '#core/clock.ts';
import { idFloor, idMoment } from '#core/ids.ts';
import { pageOf } from '#core/page-of.ts';
import { records, type Statement, sql } from '../connection/connection-pool.ts';
import { REQUEST_COLUMNS, type RequestRow } from './request-columns.ts';
import { chooseIndex, type IndexScan, type RequestIndex, scanEnd } from './request-indexes.ts';
import { filterSql, filterValues } from './row-filter.ts';

/** The input of a page within its organization. `before` and `after` are exclusive. */
export interface RequestPageQuery extends Omit<RequestPageInput, 'search'> {
  readonly organizationId: string;
  readonly limit: number;
}

export interface FoundRequests {
  /** Newest first. */
  readonly rows: readonly RequestRow[];
  /** Value of `before` for the next page. Absent on the last one. */
  readonly next?: string;
  /** Present if the search ended early: the log was searched back to this time. */
  readonly searchedToMs?: number;
}

/**
 * A filter without an index may match one row in millions. So a page is searched in steps. Each
 * step scans a number of rows of the best index, at most twice that of the step before. No step
 * begins after PATIENCE_MS.
 */
const FIRST_STEP_ROWS = 2_000;
const MOST_STEP_ROWS = 8_000;
const STEP_GROWTH = 2;
/** The last step may take as long again. Together they stay below what people notice. */
export const PATIENCE_MS = 80;
/** Text that sorts after every id. */
export const END = 'log-~';
/** Range of the first step, mostly enough: planning a year takes 65 of 366 ms (measured). */
const RECENT_MS = 2 * DAY_MS;

/**
 * The inner limit bounds the scanned rows, the middle one the matching rows. Only matching rows are
 * joined with the names of their keys.
 */
function pageStatement({ name, condition }: RequestIndex): Statement {
  return sql(`requests_by_${name}`)`
    select ${REQUEST_COLUMNS}
      from (
        select * from (
          select * from request_log
          where organization_id = $1 and id >= $2 and id < $3 and ${condition('$5')} order by id desc limit $4
        ) as scanned
        where ${filterSql(7)}
        order by id desc limit $6
      ) as p left join keys k on k.id = p.key_id
      order by p.id desc`;
}

/** Finds one page of the request log. No step begins after `patienceMs`. */
export async function findRequests(
  pool: pg.Pool,
  query: RequestPageQuery,
  patienceMs: number = PATIENCE_MS,
): Promise<FoundRequests> {
  const { organizationId, fromMs, toMs, before = END, after, limit } = query;
  const range = {
    organizationId,
    // No id sorts between an id and that id with one more character.
    fromId: later(idFloor('log', fromMs ?? 0), after === undefined ? '' : `${after}0`),
    beforeId: earlier(before, toMs === undefined ? END : idFloor('log', toMs)),
  };
  const { index, value } = await chooseIndex(pool, query, range);
  const statement = pageStatement(index);
  const rows: RequestRow[] = [];
  const startMs = performance.now();
  let scan: IndexScan = {
    ...range,
    fromId: later(range.fromId, recentFrom(range.beforeId)),
    value,
    rows: FIRST_STEP_ROWS,
  };
  for (;;) {
    const stepMs = performance.now();
    rows.push(...(await records<RequestRow>(pool, statement, pageValues(scan, query, limit + 1 - rows.length))));
    if (rows.length > limit) return pageOf(rows, limit, ({ id }) => id);
    const { scanned, lastId } = await scanEnd(pool, index, scan);
    if (scanned < scan.rows || lastId === null) {
      if (scan.fromId === range.fromId) return { rows };
      scan = { ...scan, fromId: range.fromId, beforeId: scan.fromId };
      continue;
    }
    // Rows that arrived between the two statements move the end of the second one.
    const beforeId = earlier(lastId, rows.at(-1)?.id ?? END);
    const nowMs = performance.now();
    if (nowMs - startMs >= patienceMs) return { rows, next: beforeId, searchedToMs: idMoment(beforeId) };
    const grows = (nowMs - stepMs) * STEP_GROWTH <= patienceMs;
    scan = { ...scan, beforeId, rows: grows ? Math.min(scan.rows * STEP_GROWTH, MOST_STEP_ROWS) : scan.rows };
  }
}

function recentFrom(beforeId: string): string {
  const endMs = beforeId === END ? Date.now() : idMoment(beforeId);
  return idFloor('log', endMs - RECENT_MS);
}

function pageValues(scan: IndexScan, query: RequestPageQuery, limit: number): unknown[] {
  const { organizationId, fromId, beforeId, rows, value } = scan;
  return [organizationId, fromId, beforeId, rows, value, limit, ...filterValues(query)];
}

export function later(a: string, b: string): string {
  return a > b ? a : b;
}

export function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

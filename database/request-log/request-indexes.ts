import type pg from 'pg';
import type { StatusClass } from '#contract/explore.ts';
import type { ExploreFilter } from '#contract/explore-filter.ts';
import { only, type Statement, sql } from '../connection/connection-pool.ts';

/** An index of `request_log`, sorted by id, and the one filter field that it narrows. */
export interface RequestIndex {
  readonly name: string;
  /** SQL of the condition, given the parameter with its value. $1 is the organization. */
  condition(value: string): string;
}

/** Reads the newest `rows` rows of an index between two ids. */
export interface IndexScan {
  readonly organizationId: string;
  readonly fromId: string;
  readonly beforeId: string;
  readonly value: string | null;
  readonly rows: number;
}

/** End of a scan. If it has fewer rows than the scan's limit, the index has no more. */
export interface ScanEnd {
  readonly scanned: number;
  readonly lastId: string | null;
}

/** An index, with the filter's value for it. */
export interface ChosenIndex {
  readonly index: RequestIndex;
  readonly value: string | null;
}

const BY_TIME: RequestIndex = { name: 'time', condition: (value) => `${value}::text is null` };
export const ALL_ROWS: ChosenIndex = { index: BY_TIME, value: null };
/** Key ids are no secret: rows of another organization's key are not even scanned. */
const BY_KEY: RequestIndex = {
  name: 'key',
  condition: (value) => `key_id = (select k.id from keys k where k.id = ${value} and k.organization_id = $1)`,
};
const BY_MODEL: RequestIndex = { name: 'model', condition: (value) => `model = ${value}` };
const BY_CODE: RequestIndex = { name: 'code', condition: (value) => `code = ${value}` };
const FAILURES: RequestIndex = {
  name: 'failure',
  condition: (value) => `${value}::text is null and code is not null`,
};

const PROBE_ROWS = 1_000;

/**
 * Chooses the index that has the fewest rows for the filter. Probes the newest rows of each
 * candidate: the best one has fewer than the limit, or reaches furthest back for as many. The
 * planner cannot choose, because its statistics do not show how the requests of one organization
 * are distributed.
 */
export async function chooseIndex(
  pool: pg.Pool,
  filter: ExploreFilter,
  range: Pick<IndexScan, 'organizationId' | 'fromId' | 'beforeId'>,
): Promise<ChosenIndex> {
  const candidates = indexesFor(filter);
  const [only = ALL_ROWS, ...others] = candidates;
  if (others.length === 0) return only;
  const probed = await Promise.all(
    candidates.map(async ({ index, value }) => {
      const { scanned, lastId } = await scanEnd(pool, index, { ...range, value, rows: PROBE_ROWS });
      return { index, value, reachesTo: scanned < PROBE_ROWS ? '' : (lastId ?? '') };
    }),
  );
  return probed.reduce((best, next) => (next.reachesTo < best.reachesTo ? next : best));
}

/** Indexes narrow one value. The empty model matches rows with any name, so it has none. */
function indexesFor({ keys = [], models = [], codes = [], outcome, statusClasses = [] }: ExploreFilter): ChosenIndex[] {
  const [key, model, code] = [keys, models, codes].map((list) =>
    list.length === 1 ? list[0] || undefined : undefined,
  );
  const isFailure = (status: StatusClass) => status === '4xx' || status === '5xx';
  const failed = outcome === 'failed' || (statusClasses.length > 0 && statusClasses.every(isFailure));
  return [
    ...(code === undefined ? [] : [{ index: BY_CODE, value: code }]),
    ...(failed && code === undefined ? [{ index: FAILURES, value: null }] : []),
    ...(key === undefined ? [] : [{ index: BY_KEY, value: key }]),
    ...(model === undefined ? [] : [{ index: BY_MODEL, value: model }]),
  ];
}

function scanEndStatement({ name, condition }: RequestIndex): Statement {
  return sql(`end_of_requests_by_${name}`)`
    select count(*)::integer as scanned, min(id) as "lastId"
      from (
        select id from request_log
        where organization_id = $1 and id >= $2 and id < $3 and ${condition('$5')} order by id desc limit $4
      ) as scanned`;
}

/** Finds the end of a scan. The page's own statement returns only matching rows. */
export async function scanEnd(pool: pg.Pool, index: RequestIndex, scan: IndexScan): Promise<ScanEnd> {
  const { organizationId, fromId, beforeId, rows, value } = scan;
  return only(pool, scanEndStatement(index), [organizationId, fromId, beforeId, rows, value]);
}

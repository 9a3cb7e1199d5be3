import type pg from 'pg';
import { CLIENT_GONE_STATUS } from '../../core/errors/catalogue.ts';
import type { RequestFilter } from '../../dashboard/contract/request-log.ts';
import { run, type Statement } from '../connection/connection-pool.ts';

/** An index of `request_log` that is sorted by id, with the one filter field it can narrow. */
export interface Source {
  readonly name: string;
  /** $5 is the value that it looks for. */
  readonly condition: string;
}

/** So many rows of a source, newest first. */
export interface Walk {
  readonly organizationId: string;
  readonly fromId: string;
  readonly beforeId: string;
  readonly value: string | null;
  readonly rows: number;
}

/** How far a walk gets. */
export interface Extent {
  readonly walked: number;
  readonly lastId: string | null;
}

export interface ChosenSource {
  readonly source: Source;
  readonly value: string | null;
  extent(walk: Walk): Promise<Extent>;
}

const ALL: Source = { name: 'time', condition: '$5::text is null' };
/**
 * Keys are no secret, so another organization's could be asked for: its rows are not even walked.
 */
const BY_KEY: Source = {
  name: 'key',
  condition: 'key_id = (select k.id from keys k where k.id = $5 and k.organization_id = $1)',
};
const BY_MODEL: Source = { name: 'model', condition: 'model = $5' };
const BY_CODE: Source = { name: 'code', condition: 'code = $5' };
const FAILURES: Source = { name: 'failure', condition: '$5::text is null and code is not null' };

const PROBE_ROWS = 1_000;

/**
 * The source with the fewest rows for this filter, as its newest ones let expect: the one whose
 * rows end first, or reach farthest back. No statistics of the planner know how one organization's
 * requests are spread.
 */
export async function chooseSource(
  pool: pg.Pool,
  filter: RequestFilter,
  range: Pick<Walk, 'organizationId' | 'fromId' | 'beforeId'>,
): Promise<ChosenSource> {
  const sources = sourcesFor(filter).map(
    ([source, value]): ChosenSource => ({
      source,
      value,
      extent: (walk) => readExtent(pool, source, walk),
    }),
  );
  const [only, ...others] = sources;
  if (only === undefined) return { source: ALL, value: null, extent: (walk) => readExtent(pool, ALL, walk) };
  if (others.length === 0) return only;
  const probed = await Promise.all(
    sources.map(async (chosen) => {
      const { walked, lastId } = await chosen.extent({ ...range, value: chosen.value, rows: PROBE_ROWS });
      return { chosen, reach: walked < PROBE_ROWS ? '' : (lastId ?? '') };
    }),
  );
  return probed.reduce((best, next) => (next.reach < best.reach ? next : best)).chosen;
}

function sourcesFor({ key, model, code, status, outcome }: RequestFilter): [Source, string | null][] {
  const failed = outcome === 'failed' || (status !== undefined && status >= 400 && status !== CLIENT_GONE_STATUS);
  return [
    ...(code === undefined ? [] : [[BY_CODE, code] satisfies [Source, string]]),
    ...(failed && code === undefined ? [[FAILURES, null] satisfies [Source, null]] : []),
    ...(key === undefined ? [] : [[BY_KEY, key] satisfies [Source, string]]),
    ...(model === undefined ? [] : [[BY_MODEL, model] satisfies [Source, string]]),
  ];
}

function extentStatement({ name, condition }: Source): Statement {
  return {
    name: `extent_of_requests_by_${name}`,
    text: `select count(*)::integer as walked, min(id) as "lastId"
      from (
        select id from request_log
        where organization_id = $1 and id >= $2 and id < $3 and ${condition} order by id desc limit $4
      ) as walked`,
  };
}

async function readExtent(pool: pg.Pool, source: Source, walk: Walk): Promise<Extent> {
  const { organizationId, fromId, beforeId, rows, value } = walk;
  const [extent] = await run<Extent>(pool, extentStatement(source), [organizationId, fromId, beforeId, rows, value]);
  return extent ?? { walked: 0, lastId: null };
}

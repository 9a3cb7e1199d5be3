import type pg from 'pg';
import { isGenerationId } from '#core/id-form.ts';
import { run, type Statement, sql } from '../connection/connection-pool.ts';
import { REQUEST_COLUMNS, type RequestRow } from './request-columns.ts';

const WITH_KEY = `select p.*, k.name as key_name, k.last4 as key_last4 from`;
const SHOW = sql('show_request')`
  ${WITH_KEY} (select ${REQUEST_COLUMNS} from request_log where organization_id = $1 and id = $2) as p
    left join keys k on k.id = p.key_id`;
const BY_REQUEST_ID = lookup('requests_by_request_id', 'request_id');
const BY_GENERATION_ID = lookup('requests_by_generation_id', 'generation_id');

function lookup(name: string, column: string): Statement {
  return sql(name)`
    select p.*, k.name as key_name, k.last4 as key_last4, case when $1::text is null then o.name end as organization_name from (
        select ${REQUEST_COLUMNS} from request_log where ${column} = $2 and ($1::text is null or organization_id = $1)
        order by id desc limit $3
      ) as p left join keys k on k.id = p.key_id left join organizations o on o.id = p.organization_id
      order by p.id desc`;
}

export async function findRequest(pool: pg.Pool, organizationId: string, id: string): Promise<RequestRow | undefined> {
  const [row] = await run<RequestRow>(pool, SHOW, [organizationId, id]);
  return row;
}

/**
 * By request id or generation id, newest first: a generation that was replayed has several
 * requests, and its newest are enough. Without an organization: in all of them.
 */
export async function searchRequests(
  pool: pg.Pool,
  organizationId: string | undefined,
  id: string,
  limit: number,
): Promise<readonly RequestRow[]> {
  const statement = isGenerationId(id) ? BY_GENERATION_ID : BY_REQUEST_ID;
  const rows = await run<RequestRow>(pool, statement, [organizationId ?? null, id, limit]);
  return organizationId === undefined ? rows : rows.map(({ organization_name: _, ...row }) => row);
}

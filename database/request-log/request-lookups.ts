import type pg from 'pg';
import { isGenerationId } from '#core/id-form.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import { REQUEST_COLUMNS, type RequestRow } from './request-columns.ts';

const WITH_KEY = `select p.*, k.name as key_name, k.last4 as key_last4 from`;
const SHOW: Statement = {
  name: 'show_request',
  text: `${WITH_KEY} (select ${REQUEST_COLUMNS} from request_log where organization_id = $1 and id = $2) as p
    left join keys k on k.id = p.key_id`,
};
const BY_REQUEST_ID = lookup('requests_by_request_id', 'request_id');
const BY_GENERATION_ID = lookup('requests_by_generation_id', 'generation_id');

function lookup(name: string, column: string): Statement {
  return {
    name,
    text: `${WITH_KEY} (
        select ${REQUEST_COLUMNS} from request_log where ${column} = $2 and organization_id = $1 order by id desc limit $3
      ) as p left join keys k on k.id = p.key_id
      order by p.id desc`,
  };
}

export async function findRequest(pool: pg.Pool, organizationId: string, id: string): Promise<RequestRow | undefined> {
  const [row] = await run<RequestRow>(pool, SHOW, [organizationId, id]);
  return row;
}

/**
 * By request id or generation id, newest first: a generation that was replayed has several
 * requests, and its newest are enough.
 */
export async function searchRequests(
  pool: pg.Pool,
  organizationId: string,
  id: string,
  limit: number,
): Promise<readonly RequestRow[]> {
  const statement = isGenerationId(id) ? BY_GENERATION_ID : BY_REQUEST_ID;
  return run<RequestRow>(pool, statement, [organizationId, id, limit]);
}

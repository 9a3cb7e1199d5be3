import type pg from 'pg';
import type { UnchargedAttemptView } from '#contract/request-log.ts';
import { isGenerationId } from '#core/id-form.ts';
import { records, type Statement, sql } from '../connection/connection-pool.ts';
import { REQUEST_COLUMNS, type RequestRow } from './request-columns.ts';

const SHOW = sql('show_request')`
  select ${REQUEST_COLUMNS} from request_log p left join keys k on k.id = p.key_id
    where p.organization_id = $1 and p.id = $2`;
const ATTEMPTS = sql('uncharged_attempts_of_generation')`
  select provider, provider_model as "providerModel", result from provider_attempts
    where generation_id = $1 and organization_id = $2 order by attempt`;
const BY_REQUEST_ID = lookup('requests_by_request_id', 'request_id');
const BY_GENERATION_ID = lookup('requests_by_generation_id', 'generation_id');

function lookup(name: string, column: string): Statement {
  return sql(name)`
    select ${REQUEST_COLUMNS}, case when $1::text is null then p.organization_id end as "organizationId",
        case when $1::text is null then o.name end as "organizationName" from (
        select * from request_log where ${column} = $2 and ($1::text is null or organization_id = $1)
        order by id desc limit $3
      ) as p left join keys k on k.id = p.key_id left join organizations o on o.id = p.organization_id
      order by p.id desc`;
}

export async function findRequest(pool: pg.Pool, organizationId: string, id: string): Promise<RequestRow | undefined> {
  return (await records<RequestRow>(pool, SHOW, [organizationId, id]))[0];
}

/** The calls of providers for which nobody was charged, in order. */
export async function findUnchargedAttempts(
  pool: pg.Pool,
  organizationId: string,
  generationId: string,
): Promise<readonly UnchargedAttemptView[]> {
  return records(pool, ATTEMPTS, [generationId, organizationId]);
}

/**
 * Finds requests by request id or generation id, newest first. A generation that was replayed has
 * several requests, of which the newest are enough. Without an organization, searches all.
 */
export async function searchRequests(
  pool: pg.Pool,
  organizationId: string | undefined,
  id: string,
  limit: number,
): Promise<readonly RequestRow[]> {
  const statement = isGenerationId(id) ? BY_GENERATION_ID : BY_REQUEST_ID;
  return records(pool, statement, [organizationId ?? null, id, limit]);
}

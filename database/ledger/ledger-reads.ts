import type pg from 'pg';
import { records, run, sql } from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
import type { Credits, Generation } from './ledger.ts';
import { USAGE_JSON } from './usage-columns.ts';

const FIND_GENERATION = sql('find_generation')`
    select id as "generationId", key_id as "keyId", model, provider, provider_model as "providerModel", upstream_id as "upstreamId", api,
      ${nearestMilliseconds('created_at')} as "createdAtMs", streamed, cancelled, finish_reason as "finishReason", service_tier as "serviceTier",
      ${USAGE_JSON} as usage, usage_counted as "usageCounted", cost_nano_usd as "costNanoUsd", first_event_ms::float8 as "firstEventMs",
      generation_time_ms::float8 as "generationTimeMs"
    from generations where id = $1 and organization_id = $2`;

/** Archived generations still have their entries. */
const CHARGED_AMONG = sql('charged_among')`
  select e.generation_id as id from unnest($1::text[]) as wanted (id) join ledger_entries e on e.generation_id = wanted.id collate "C"`;

const CREDITS = sql('credits')`
  select balance_nano_usd as "balanceNanoUsd", total_credits_nano_usd as "totalCreditsNanoUsd", total_usage_nano_usd as "totalUsageNanoUsd",
      dead_letters_nano_usd as "deadLettersNanoUsd"
    from accounts where organization_id = $1`;

export async function findGeneration(
  pool: pg.Pool,
  organizationId: string,
  generationId: string,
): Promise<Generation | undefined> {
  return (await records<Generation>(pool, FIND_GENERATION, [generationId, organizationId], ['costNanoUsd']))[0];
}

export async function chargedAmong(pool: pg.Pool, generationIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await run<{ id: string }>(pool, CHARGED_AMONG, [generationIds]);
  return new Set(rows.map(({ id }) => id));
}

export async function credits(pool: pg.Pool, organizationId: string): Promise<Credits> {
  const amounts = ['balanceNanoUsd', 'totalCreditsNanoUsd', 'totalUsageNanoUsd', 'deadLettersNanoUsd'] as const;
  const [found] = await records<Credits>(pool, CREDITS, [organizationId], amounts);
  if (!found) throw new Error(`there is no organization ${organizationId}`);
  return found;
}

const UNACCOUNTED_AMONG = sql('unaccounted_among')`
  select id from unnest($1::text[]) given (id)
    where not exists (select from ledger_entries e where e.generation_id = given.id)
      and not exists (select from losses l where l.generation_id = given.id)
      and not exists (select from dead_letters d where d.generation_id = given.id)`;

/** Returns the ids that have neither a charge nor a loss nor a dead letter. */
export async function unaccountedAmong(pool: pg.Pool, generationIds: readonly string[]): Promise<readonly string[]> {
  return (await run<{ id: string }>(pool, UNACCOUNTED_AMONG, [generationIds])).map(({ id }) => id);
}

import type pg from 'pg';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { run, sql } from '../connection/connection-pool.ts';
import type { Credits, Generation } from './ledger.ts';
import { type TokenRow, tokenList, usageOf } from './usage-columns.ts';

const FIND_GENERATION = sql('find_generation')`
    select id, key_id, model, provider, provider_model, upstream_id, api, (extract(epoch from created_at) * 1000)::bigint as created_ms, streamed, cancelled,
      finish_reason, service_tier, ${tokenList()}, usage_counted, cost_nano_usd, latency_ms,
      generation_time_ms
    from generations where id = $1 and organization_id = $2`;

const EPOCH = sql('ledger_epoch')`select epoch from ledger_state`;

/** Joins laterally, so that each id reads only the partition of its time. */
const CHARGED_AMONG = sql('charged_among')`
  select g.id from unnest($1::text[]) as wanted (id) join generations g on g.id = wanted.id collate "C"`;

const CREDITS = sql('credits')`
  select balance_nano_usd, total_credits_nano_usd, total_usage_nano_usd from accounts where organization_id = $1`;

interface GenerationRow extends TokenRow {
  readonly id: string;
  readonly key_id: string;
  readonly model: string;
  readonly provider: string;
  readonly provider_model: string;
  readonly upstream_id: string | null;
  readonly api: string;
  readonly created_ms: string;
  readonly streamed: boolean;
  readonly cancelled: boolean;
  readonly finish_reason: string | null;
  readonly service_tier: string | null;
  readonly usage_counted: boolean;
  readonly cost_nano_usd: string;
  readonly latency_ms: string;
  readonly generation_time_ms: string;
}

export async function findGeneration(
  pool: pg.Pool,
  organizationId: string,
  generationId: string,
): Promise<Generation | undefined> {
  const [row] = await run<GenerationRow>(pool, FIND_GENERATION, [generationId, organizationId]);
  if (!row) return undefined;
  return {
    generationId: row.id,
    keyId: row.key_id,
    model: row.model,
    provider: row.provider,
    providerModel: row.provider_model,
    ...(row.upstream_id === null ? {} : { upstreamId: row.upstream_id }),
    api: row.api,
    createdAtMs: Number(row.created_ms),
    streamed: row.streamed,
    cancelled: row.cancelled,
    ...(row.finish_reason === null ? {} : { finishReason: row.finish_reason }),
    ...(row.service_tier === null ? {} : { serviceTier: row.service_tier }),
    usage: usageOf(row),
    usageCounted: row.usage_counted,
    costNanoUsd: BigInt(row.cost_nano_usd),
    latencyMs: Number(row.latency_ms),
    generationTimeMs: Number(row.generation_time_ms),
  };
}

export async function ledgerEpoch(pool: pg.Pool): Promise<string> {
  const [row] = await run<{ epoch: string }>(pool, EPOCH, []);
  if (row === undefined) throw new StoreUnavailable('the database has lost its ledger_state');
  return row.epoch;
}

export async function chargedAmong(pool: pg.Pool, generationIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await run<{ id: string }>(pool, CHARGED_AMONG, [generationIds]);
  return new Set(rows.map(({ id }) => id));
}

export async function credits(pool: pg.Pool, organizationId: string): Promise<Credits> {
  const [row] = await run<Record<'balance_nano_usd' | 'total_credits_nano_usd' | 'total_usage_nano_usd', string>>(
    pool,
    CREDITS,
    [organizationId],
  );
  if (!row) throw new Error(`there is no organization ${organizationId}`);
  return {
    balanceNanoUsd: BigInt(row.balance_nano_usd),
    totalCreditsNanoUsd: BigInt(row.total_credits_nano_usd),
    totalUsageNanoUsd: BigInt(row.total_usage_nano_usd),
  };
}

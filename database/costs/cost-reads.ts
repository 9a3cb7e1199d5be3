import type pg from 'pg';
import { DAY_MS } from '../../core/clock.ts';
import { idFloor } from '../../core/ids.ts';
import { inTransaction, READ_WHOLE } from '../connection/connection-pool.ts';
import { asStoreError } from '../connection/unavailable.ts';
import type { CostGroup, CostQuery, CostRow, ProviderUsageQuery, ProviderUsageRow } from './costs.ts';
import type { AttemptTokens, UnchargedReason } from './provider-attempts.ts';

/** Timeout of a report over months of a large ledger. */
const TIMEOUT_MS = 600_000;
/** Sorts after every generation. */
const AFTER_ALL_GENERATIONS = 'gen-8';

const COLUMN: Readonly<Record<CostGroup, string>> = {
  model: 'model',
  provider: 'provider',
  organization: 'organization_id',
};

/** Losses belong to the time of their request, as its charge does. */
function reportSql(column: string): string {
  return `
    with charged as (
      select ${column} as subject, count(*) as requests, sum(cost_nano_usd) as revenue
      from generations where id >= $1 and id < $2 group by ${column}
    ), lost as (
      select ${column} as subject, sum(amount_nano_usd) as losses
      from losses where generation_id >= $1 and generation_id < $2 group by ${column}
    )
    select coalesce(c.subject, l.subject) as subject, coalesce(c.requests, 0) as requests, coalesce(c.revenue, 0) as revenue,
      coalesce(l.losses, 0) as losses
    from charged c full join lost l on l.subject = c.subject
    order by revenue desc, subject`;
}

/** Reports costs and losses, the largest revenue first. */
export async function costReport(pool: pg.Pool, { sinceMs, untilMs, by }: CostQuery): Promise<readonly CostRow[]> {
  const until = untilMs === undefined ? AFTER_ALL_GENERATIONS : idFloor('gen', Math.max(0, untilMs));
  const rows = await readWhole<Record<'subject' | 'requests' | 'revenue' | 'losses', string>>(
    pool,
    reportSql(COLUMN[by]),
    [idFloor('gen', Math.max(0, sinceMs)), until],
  );
  return rows.map(({ subject, requests, revenue, losses }) => ({
    subject,
    requests: Number(requests),
    revenueNanoUsd: BigInt(revenue),
    lossesNanoUsd: BigInt(losses),
  }));
}

/**
 * Ids select the partitions: an attempt begins at most `timeouts.total`, an hour, after its
 * request.
 */
const PROVIDER_USAGE = `
  select (asked_at at time zone 'UTC')::date - date '1970-01-01' as day, provider_model as model, reason, token_source as source,
    count(*) as calls, sum(prompt_tokens) as prompt, sum(cached_tokens) as cached, sum(completion_tokens) as completion
  from provider_calls
  where generation_id >= $1 and generation_id < $2 and asked_at >= to_timestamp($3::double precision / 1000)
    and asked_at < to_timestamp($4::double precision / 1000) and provider_model = any ($5::text[]) and ($6::text is null or provider = $6)
  group by 1, 2, 3, 4 order by 1, 2, 3 nulls first, 4`;

interface UsageSums extends Record<'calls' | 'prompt' | 'cached' | 'completion', string> {
  readonly day: number;
  readonly model: string;
  readonly reason: UnchargedReason | null;
  readonly source: AttemptTokens['source'] | null;
}

export async function providerUsage(pool: pg.Pool, query: ProviderUsageQuery): Promise<readonly ProviderUsageRow[]> {
  const [sinceMs, untilMs] = [query.firstDay * DAY_MS, (query.lastDay + 1) * DAY_MS];
  const ids = [idFloor('gen', Math.max(0, sinceMs - DAY_MS)), idFloor('gen', untilMs)];
  const values = [...ids, sinceMs, untilMs, query.models, query.provider ?? null];
  const rows = await readWhole<UsageSums>(pool, PROVIDER_USAGE, values);
  return rows.map(({ day, model, reason, source, calls, prompt, cached, completion }) => ({
    day,
    model,
    ...(reason === null ? {} : { reason }),
    ...(source === null ? {} : { source }),
    calls: Number(calls),
    promptTokens: Number(prompt),
    cachedTokens: Number(cached),
    completionTokens: Number(completion),
  }));
}

async function readWhole<R extends object>(pool: pg.Pool, text: string, values: unknown[]): Promise<R[]> {
  return inTransaction(pool, 'begin read only', async (client) => {
    await client.query(
      `set local statement_timeout = ${TIMEOUT_MS}; set local plan_cache_mode = force_custom_plan; ${READ_WHOLE}`,
    );
    // Replaces the connection's timeout, which is meant for requests. `query_timeout` is read by
    // pg, but missing from its types.
    const statement = { text, values, query_timeout: TIMEOUT_MS + 1_000 };
    try {
      return (await client.query<R>(statement)).rows;
    } catch (error) {
      throw asStoreError(error);
    }
  });
}

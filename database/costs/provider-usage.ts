import type pg from 'pg';
import { DAY_MS } from '#core/clock.ts';
import { idFloor } from '#core/ids.ts';
import { recordOf } from '../connection/connection-pool.ts';
import type { ProviderUsageQuery, ProviderUsageRow } from './costs.ts';
import { readWhole } from './read-whole.ts';

/** Selects partitions by id. Attempts begin within `timeouts.total` (one hour) of the request. */
const PROVIDER_USAGE = `
  select (asked_at at time zone 'UTC')::date - date '1970-01-01' as day, provider_model as model, reason, token_source as source,
    count(*)::float8 as calls, sum(prompt_tokens)::float8 as "promptTokens", sum(cached_tokens)::float8 as "cachedTokens",
    sum(completion_tokens)::float8 as "completionTokens"
  from provider_calls
  where generation_id >= $1 and generation_id < $2 and asked_at >= to_timestamp($3::double precision / 1000)
    and asked_at < to_timestamp($4::double precision / 1000) and provider_model = any ($5::text[]) and ($6::text is null or provider = $6)
  group by 1, 2, 3, 4 order by 1, 2, 3 nulls first, 4`;

export async function providerUsage(pool: pg.Pool, query: ProviderUsageQuery): Promise<readonly ProviderUsageRow[]> {
  const [sinceMs, untilMs] = [query.firstDay * DAY_MS, (query.lastDay + 1) * DAY_MS];
  const ids = [idFloor('gen', Math.max(0, sinceMs - DAY_MS)), idFloor('gen', untilMs)];
  const values = [...ids, sinceMs, untilMs, query.models, query.provider ?? null];
  const rows = await readWhole(pool, { text: PROVIDER_USAGE, values });
  return rows.map((row) => recordOf(row, []));
}

import type pg from 'pg';
import { DAY_MS } from '#core/clock.ts';
import { idFloor } from '#core/ids.ts';
import type { ProviderUsageQuery, ProviderUsageRow } from './costs.ts';
import type { AttemptTokens, UnchargedReason } from './provider-attempts.ts';
import { readWhole } from './read-whole.ts';

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
  const rows = await readWhole<UsageSums>(pool, { text: PROVIDER_USAGE, values });
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

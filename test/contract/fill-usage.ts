import { DAY, sql } from '../harness/database.ts';

/** Writes the usage of keys on each of the days up to DAY, one request each. */
export async function fillUsage(url: string, organizationId: string, keys: number, days: number): Promise<void> {
  await sql(
    url,
    `insert into daily_usage (organization_id, day, key_id, model, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens,
       cache_write_tokens, cache_write_1h_tokens, cost_nano_usd)
     select '${organizationId}', date '1970-01-01' + ${DAY} - d, 'key-' || lpad(k::text, 26, '0'), 'model', 1, 2, 3, 1, 1, 0, 0, 1000000000000000 + k
     from generate_series(0, ${days - 1}) d, generate_series(1, ${keys}) k`,
  );
}

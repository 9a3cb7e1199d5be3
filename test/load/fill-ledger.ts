import pg from 'pg';

/**
 * Creates the charges of the newest `most` charged rows of an organization's request log
 * (fill-request-log.ts): generations, ledger, daily sums and balance, as settlements would have.
 * The organization must have no ledger yet.
 */
export async function fillLedger(databaseUrl: string, organizationId: string, most: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    await client.query("set synchronous_commit = off; set timezone = 'UTC'; set jit = off; begin");
    await client.query(CHARGES, [organizationId, most]);
    await client.query(MONTHS);
    for (const statement of [GENERATIONS, ENTRIES, USAGE, SPEND, KEY_SPEND, ACCOUNT]) {
      await client.query(statement, [organizationId]);
    }
    await client.query('commit');
    await client.query('analyze generations, ledger_entries, daily_usage');
  } finally {
    await client.end();
  }
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** The time that an id contains. */
const MOMENT_MS = Array.from(
  { length: 10 },
  (_, digit) => `((strpos('${ALPHABET}', substr(id, ${digit + 5}, 1)) - 1)::bigint << ${45 - digit * 5})`,
).join(' + ');

const CHARGES = `
  create temp table charges on commit drop as
  select *, to_timestamp((${MOMENT_MS}) / 1000.0) as at, row_number() over (order by id) as number
  from (
    select * from request_log where organization_id = $1 and cost_nano_usd is not null order by id desc limit $2
  ) as newest`;

/** `ledger verify` takes generations before the first month that has a partition for archived. */
const MONTHS = `
  select make_month('generations', month) from (select distinct date_trunc('month', at)::date as month from charges) as months`;

const GENERATIONS = `
  insert into generations (
    id, organization_id, key_id, day, model, provider, provider_model, created_at, streamed, cancelled, prompt_tokens, completion_tokens,
    cached_tokens, reasoning_tokens, cache_write_tokens, cache_write_1h_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
    output_pico_usd, cache_write_pico_usd, cache_write_1h_pico_usd, cost_nano_usd, hold_nano_usd, first_event_ms, generation_time_ms
  )
  select generation_id, $1, key_id, at::date, model, provider, model, at, streamed, false, prompt_tokens, completion_tokens,
    cached_tokens, reasoning_tokens, 0, 0, false, 250000, 250000,
    2000000, 0, 0, cost_nano_usd, cost_nano_usd, first_event_ms, duration_ms
  from charges`;

/** One credit that covers all charges precedes them. */
const ENTRIES = `
  insert into ledger_entries (
    organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, generation_id, note, actor, created_at
  )
  select $1, 1, 'credit', 2 * sum(cost_nano_usd), 2 * sum(cost_nano_usd), null, 'opening balance', 'test', min(at) - interval '1 minute'
  from charges
  union all
  select $1, number + 1, 'charge', -cost_nano_usd,
    2 * sum(cost_nano_usd) over () - sum(cost_nano_usd) over (order by number), generation_id, null, null, at
  from charges`;

const USAGE = `
  insert into daily_usage
  select $1, at::date, key_id, model, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(reasoning_tokens),
    0, 0, sum(cost_nano_usd)
  from charges group by 2, 3, 4`;

const SPEND = `
  insert into organization_daily_spend
  select $1, day, sum(cost_nano_usd) from daily_usage where organization_id = $1 group by day`;

const KEY_SPEND = `
  insert into key_daily_spend
  select key_id, day, sum(cost_nano_usd) from daily_usage where organization_id = $1 group by key_id, day`;

const ACCOUNT = `
  update accounts a set sequence = e.sequence, balance_nano_usd = e.credits - e.charges, total_credits_nano_usd = e.credits,
    total_usage_nano_usd = e.charges
  from (
    select max(sequence) as sequence, sum(amount_nano_usd) filter (where kind = 'credit') as credits,
      -sum(amount_nano_usd) filter (where kind = 'charge') as charges
    from ledger_entries where organization_id = $1
  ) as e
  where a.organization_id = $1`;

import pg from 'pg';
import { DAY_MS, type UtcDay, utcDay, utcDayText } from '#core/clock.ts';
import { SUMS } from '#database/request-log/request-day-stats.ts';
import { partitionName } from '#database/request-log/request-log-partitions.ts';
import { partitionBounds } from '../fixtures/request-log-day.ts';

export interface Filling {
  readonly organizationId: string;
  readonly rows: number;
  /** Days before `endMs` to fill. Default: 30. */
  readonly days?: number;
  /** Default: now. */
  readonly endMs?: number;
  /** Default: all keys of the organization. The first ones are used most. */
  readonly keyIds?: readonly string[];
  readonly models?: readonly string[];
  /**
   * Also fills the ledger's sums by day and end user, without entries. Use it without fillLedger(),
   * and only once for a day.
   */
  readonly withUsage?: boolean;
}

const MODELS = ['gpt-5-mini', 'gpt-5', 'claude-sonnet-4-5', 'llama-3.3-70b', 'mistral-large'];

/** Six of a hundred requests fail. The bounds are cumulative shares of the failures. */
const FAILURES = `width_bucket(r_fail / 0.06, array[0.40, 0.60, 0.72, 0.80, 0.87, 0.93, 0.97]) + 1`;
const STATUS = `(array[429, 402, 503, 400, 404, 401, 408, 401])[${FAILURES}]`;
const CODE = `(array['rpm_exceeded', 'insufficient_credits', 'upstream_error', 'context_length_exceeded', 'model_not_found',
  'ip_not_allowed', 'request_timeout', 'key_revoked'])[${FAILURES}]`;

/**
 * The time part of an id as newId() encodes it. For the random part hexadecimal digits suffice,
 * which are in the same alphabet.
 */
const TIME_PART = Array.from(
  { length: 10 },
  (_, place) => `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((arrived_ms >> ${45 - place * 5}) & 31)::integer + 1, 1)`,
).join(' || ');

const COLUMNS = `id, organization_id, key_id, request_id, generation_id, route, model, model_known, provider, address, user_agent, end_user, metadata, status,
  code, streamed, replayed, client_gone, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd,
  provider_cost_nano_usd, first_event_ms, duration_ms`;

/**
 * $1 rows between $2 and $3, with the daily rhythm of traffic. Every random number is drawn once
 * for a row: `offset 0` keeps the planner from inlining the expressions.
 */
const DRAW = `
  insert into filling (${COLUMNS}, arrived_ms)
  select 'log-' || time || upper(substr(md5(i || 'log' || seed), 1, 16)), organization_id, key_id,
    gen_random_uuid()::text, case when admitted then 'gen-' || time || upper(substr(md5(i || 'gen' || seed), 1, 16)) end, route,
    case when route = 'chat' then case when code = 'model_not_found' then 'gpt-5-maxi' else model end end,
    route = 'chat' and code is distinct from 'model_not_found',
    case when admitted then case when model like 'gpt%' then 'openai' else 'other' end end,
    '198.51.100.' || (r_key * 40)::integer, agent,
    case when route = 'chat' and r_key < 0.8 then 'user-' || floor(r_user * r_user * r_user * 3000)::integer end,
    case when route = 'chat' and r_key < 0.8 then jsonb_build_object('team', (array['red', 'green', 'blue'])[1 + floor(r_user * 3)]) end, coalesce(status, 200), code, route = 'chat' and r_stream < 0.6,
    replayed, code is null and r_stream > 0.99,
    case when charged then prompt end, case when charged then completion end, case when charged then prompt / 3 end,
    case when charged then completion / 5 end, case when charged then prompt * 250 + completion * 2000 end,
    case when charged and model like 'gpt%' then prompt * 200 + completion * 1600 end,
    case when charged then first_event end, case when admitted then first_event + completion * 9 else 4 + (r_size * 20)::integer end,
    arrived_ms
  from (
    select *, admitted and code is null and not replayed as charged, ${TIME_PART} as time
    from (
      select *, route = 'chat' and (code is null or code in ('upstream_error', 'request_timeout')) as admitted
      from (
        select i, seed, $4::text as organization_id, r_stream, r_size, r_key, r_user,
          ($5::text[])[1 + floor(r_key * r_key * cardinality($5::text[]))] as key_id,
          ($6::text[])[1 + floor(r_model * r_model * cardinality($6::text[]))] as model,
          (array['OpenAI/Python 2.8.0', 'OpenAI/JS 6.49.0', 'langchain/1.6', 'curl/8.14.1'])[1 + floor(r_key * 3.99)] as agent,
          case when r_route < 0.95 then 'chat' else (array['models', 'credits', 'generation', 'usage'])[1 + (i % 4)] end as route,
          case when r_fail < 0.06 and r_route < 0.95 then ${STATUS} end as status,
          case when r_fail < 0.06 and r_route < 0.95 then ${CODE} end as code,
          r_fail > 0.997 and r_route < 0.95 as replayed,
          20 + (r_size * r_size * 6000)::bigint as prompt, 5 + (r_out * r_out * 1500)::bigint as completion,
          (120 + 40 / (1.001 - r_first))::integer as first_event,
          $2::bigint + floor(($3::bigint - $2::bigint) * (r_time + 0.9 * sin(2 * pi() * r_time) / (2 * pi())))::bigint as arrived_ms
        from (
          select i, (i - random()) / $1::integer as r_time, random()::text as seed, random() as r_stream, random() as r_size,
            random() as r_out, random() as r_first, random() as r_key, random() as r_model, random() as r_route, random() as r_fail,
            random() as r_user
          from generate_series(1, $1::integer) as i
        ) drawn
        offset 0
      ) chosen
    ) known
    offset 0
  ) request`;

/** The sums that log_requests() maintains, with the same bucket bounds. */
const SUM_UP = `
  insert into request_stats as s (
    organization_id, hour, key_id, model, code, provider, status, streamed, ${SUMS.join(', ')}, first_event_buckets
  )
  select organization_id, to_timestamp(arrived_ms / 3600000 * 3600), key_id,
    case when model_known then model else '' end, coalesce(code, ''), coalesce(provider, ''), status, streamed, count(*),
    coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_tokens), 0),
    coalesce(sum(cost_nano_usd), 0), coalesce(sum(provider_cost_nano_usd), 0),
    coalesce(sum(cost_nano_usd) filter (where provider_cost_nano_usd is not null), 0),
    array[${Array.from({ length: 11 }, (_, bucket) => `count(*) filter (where bucket = ${bucket})`).join(', ')}]
  from (
    select *, width_bucket(first_event_ms, array[51, 101, 201, 401, 801, 1601, 3201, 6401, 12801, 25601]) as bucket from filling
  ) f
  group by 1, 2, 3, 4, 5, 6, 7, 8
  on conflict (organization_id, hour, key_id, model, code, provider, status, streamed) do update set
    ${SUMS.map((column) => `${column} = s.${column} + excluded.${column}`).join(', ')},
    first_event_buckets = array(select a + b from unnest(s.first_event_buckets, excluded.first_event_buckets) as u (a, b))`;

const NOTE_ACTIVITY = `
  insert into key_activity as k (key_id, last_used_at, last_address)
  select distinct on (key_id) key_id, to_timestamp(arrived_ms / 1000.0), address from filling order by key_id, arrived_ms desc
  on conflict (key_id) do update set last_used_at = excluded.last_used_at, last_address = excluded.last_address
  where excluded.last_used_at > k.last_used_at`;

const USED = `count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(reasoning_tokens), 0, 0, sum(cost_nano_usd)
  from filling where cost_nano_usd is not null`;
const DAY = `(to_timestamp(arrived_ms / 1000.0))::date`;
const USAGE = [
  `insert into daily_usage select organization_id, ${DAY}, key_id, model, ${USED} group by 1, 2, 3, 4`,
  `insert into user_usage (
      organization_id, day, key_id, model, user_hash, end_user, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens,
      cache_write_tokens, cache_write_1h_tokens, cost_nano_usd
    )
    select organization_id, ${DAY}, key_id, model, sha256(convert_to(end_user, 'UTF8')), end_user, ${USED} and end_user is not null
    group by 1, 2, 3, 4, 6`,
];

/** A running gateway may have summed up those days already, so the sums are deleted and redone. */
const FORGET_DAYS = 'delete from request_day_stats where hour >= $1';
const SUM_UP_FROM = 'update request_days set summed_until = least(summed_until, $1::date)';

export async function fillRequestLog(databaseUrl: string, filling: Filling): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    await client.query(
      "set synchronous_commit = off; set maintenance_work_mem = '256MB'; set timezone = 'UTC'; set jit = off",
    );
    const keyIds = filling.keyIds ?? (await keysOf(client, filling.organizationId));
    if (keyIds.length === 0) throw new Error(`${filling.organizationId} has no keys`);
    const slices = slicesOf(filling);
    for (const slice of slices) {
      await client.query('create temp table filling (like request_log, arrived_ms bigint)');
      const { rows, startMs, endMs, day } = slice;
      await client.query(DRAW, [rows, startMs, endMs, filling.organizationId, keyIds, filling.models ?? MODELS]);
      await client.query(SUM_UP);
      await client.query(NOTE_ACTIVITY);
      if (filling.withUsage) for (const statement of USAGE) await client.query(statement);
      await moveIn(client, day);
      await client.query('drop table filling');
    }
    const firstDay = utcDayText(slices[0]?.day ?? utcDay(Date.now()));
    await client.query('begin');
    await client.query(SUM_UP_FROM, [firstDay]);
    await client.query(FORGET_DAYS, [firstDay]);
    await client.query('commit');
    await client.query('analyze request_log, request_stats, key_activity');
  } finally {
    await client.end();
  }
}

async function keysOf(client: pg.Client, organizationId: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>('select id from keys where organization_id = $1 order by id', [
    organizationId,
  ]);
  return rows.map(({ id }) => id);
}

interface Slice {
  readonly day: UtcDay;
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: number;
}

/** Splits the time into days, with rows in proportion to the length of each part. */
function slicesOf({ rows, days = 30, endMs = Date.now() }: Filling): Slice[] {
  const firstMs = endMs - days * DAY_MS;
  const slices: Slice[] = [];
  let drawn = 0;
  for (let day = utcDay(firstMs); day * DAY_MS < endMs; day++) {
    const startMs = Math.max(firstMs, day * DAY_MS);
    const untilMs = Math.min(endMs, (day + 1) * DAY_MS);
    const dueByThen = Math.round((rows * (untilMs - firstMs)) / (endMs - firstMs));
    if (dueByThen > drawn) slices.push({ day, startMs, endMs: untilMs, rows: dueByThen - drawn });
    drawn = dueByThen;
  }
  return slices;
}

/**
 * A day without a partition is filled before its indexes are built, which takes a third of the
 * time.
 */
async function moveIn(client: pg.Client, day: UtcDay): Promise<void> {
  const name = partitionName(day);
  const found = await client.query('select to_regclass($1) as present', [name]);
  if (found.rows[0]?.present !== null) {
    await client.query(`insert into request_log (${COLUMNS}) select ${COLUMNS} from filling`);
    return;
  }
  await client.query(`create table ${name} (like request_log)`);
  await client.query(`insert into ${name} (${COLUMNS}) select ${COLUMNS} from filling order by id`);
  await client.query(`alter table request_log attach partition ${name} ${partitionBounds(day)}`);
}

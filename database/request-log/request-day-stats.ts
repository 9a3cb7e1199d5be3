import type pg from 'pg';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { run, sql } from '../connection/connection-pool.ts';

/**
 * Age at which a day is summed up. Requests that are logged later, after an outage of PostgreSQL,
 * are missing from the daily sums. The hourly sums include them.
 */
const SETTLED_AFTER_MS = DAY_MS / 4;
export const KEPT_DAYS = 400;
/** The figures of hourly and daily sums. */
export const SUMS = [
  'requests',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cost_nano_usd',
  'provider_cost_nano_usd',
  'known_revenue_nano_usd',
] as const;
const BUCKETS = Array.from({ length: 11 }, (_, bucket) => `sum(first_event_buckets[${bucket + 1}])::bigint`).join(', ');

/** Sums up one day in one statement. The lock on the progress row lets only one process do it. */
const SUM_UP = sql('sum_up_request_days')`
  with due as (
      update request_days d set summed_until = date '1970-01-01' + $1::integer
      from (
        select single, summed_until from request_days where summed_until < date '1970-01-01' + $1::integer for update
      ) as before
      where d.single = before.single
      returning before.summed_until as since, d.summed_until as until
    ), summed as (
      insert into request_day_stats (
        organization_id, hour, key_id, model, code, provider, status, streamed, ${SUMS.join(', ')}, first_event_buckets
      )
      select organization_id, date_trunc('day', hour, 'UTC'), key_id, model, code, provider, status, streamed,
        ${SUMS.map((column) => `sum(${column})::bigint`).join(', ')}, array[${BUCKETS}]
      from request_stats s join due d
        on s.hour >= d.since::timestamp at time zone 'UTC' and s.hour < d.until::timestamp at time zone 'UTC'
      group by 1, 2, 3, 4, 5, 6, 7, 8
      returning 1
    ), forgotten as (
      delete from request_day_stats s using due where s.hour < (due.until - ${KEPT_DAYS})::timestamp at time zone 'UTC' returning 1
    )
    select count(*)::integer as rows from summed`;

/** Sums up the days that have ended since the last run. */
export async function sumUpRequestDays(pool: pg.Pool, nowMs: number): Promise<void> {
  await run(pool, SUM_UP, [utcDay(nowMs - SETTLED_AFTER_MS)]);
}

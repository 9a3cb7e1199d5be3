import type pg from 'pg';
import { DAY_MS, type UtcDay, utcDay } from '#core/clock.ts';
import { idFloor, idMoment } from '#core/ids.ts';
import { inTransaction, only, READ_WHOLE, run, type StoreLog, sql } from '../connection/connection-pool.ts';
import { PATIENCE_MS, readPatiently } from '../connection/patient-session.ts';
import { rowsOfCosts } from './booked-costs.ts';

/** Sorts after every generation. */
const AFTER_ALL_GENERATIONS = 'gen-8';
const CHECK_EVERY_MS = 600_000;

function firstId(day: UtcDay): string {
  return firstIdSince(day * DAY_MS);
}

function firstIdSince(ms: number): string {
  return idFloor('gen', Math.max(0, ms));
}

const SUMMED_UNTIL = sql('cost_days_summed_until')`
  select summed_until - date '1970-01-01' as day from cost_progress`;

/**
 * The parameters of `bookedCosts`: the range as ids, the days whose sums are read, and where these
 * begin and end as ids. A day that is summed up meanwhile is still read from its rows.
 */
export async function costRange(pool: pg.Pool, sinceMs: number, untilMs?: number): Promise<readonly unknown[]> {
  const { day: summedUntil } = await only<{ day: UtcDay }>(pool, SUMMED_UNTIL, []);
  const [since, until] = [firstIdSince(sinceMs), untilMs === undefined ? AFTER_ALL_GENERATIONS : firstIdSince(untilMs)];
  const first = Math.ceil(sinceMs / DAY_MS);
  const end = untilMs === undefined ? summedUntil : Math.min(summedUntil, utcDay(untilMs));
  return end <= first
    ? [since, until, first, first, since, since]
    : [since, until, first, end, firstId(first), firstId(end)];
}

/**
 * Only one process sums up. Rows of a day come at most six hours after its end without being marked
 * as late: the last request may take an hour.
 */
const TAKE_TURN = sql('take_turn_at_cost_days')`
  select summed_until - date '1970-01-01' as "summedUntil", (now() at time zone 'UTC' - interval '7 hours')::date - date '1970-01-01' as until
    from cost_progress for update skip locked`;
const FIRST_LATE = sql('first_late_cost')`select min(generation_id) as id from late_costs where generation_id < $1`;
const FIRST_UNSUMMED = sql('first_cost_not_summed')`
  select least(
      (select min(id) from generations where id >= $1), (select min(generation_id) from uncharged_costs where generation_id >= $1)
    ) as id`;
const MOVE_TO = sql('move_cost_progress')`update cost_progress set summed_until = date '1970-01-01' + $1::integer`;

const FORGET_LATE = sql('forget_late_costs')`delete from late_costs where generation_id >= $1 and generation_id < $2`;

/** A group that lost charges keeps its sums: these generations were archived. */
const SUM_UP = `
  insert into cost_days as d (
    day, organization_id, model, provider, requests, revenue_nano_usd, list_nano_usd, cost_nano_usd, known_revenue_nano_usd, unknown
  )
  select date '1970-01-01' + $3::integer, organization_id, model, provider, sum(requests), sum(revenue), sum(list), sum(cost),
    sum(known_revenue), bool_or(unknown)
  from (${rowsOfCosts({ from: '$1', to: '$2' }, () => ['organization_id', 'model', 'provider'])}) as booked
  group by organization_id, model, provider
  on conflict (day, organization_id, model, provider) do update set
    requests = excluded.requests,
    revenue_nano_usd = excluded.revenue_nano_usd,
    list_nano_usd = excluded.list_nano_usd,
    cost_nano_usd = excluded.cost_nano_usd,
    known_revenue_nano_usd = excluded.known_revenue_nano_usd,
    unknown = excluded.unknown
  where excluded.requests >= d.requests`;

/** Sums up the days that are over, and those again to which late rows were added. */
export async function sumUpCostDays(pool: pg.Pool): Promise<void> {
  while (await sumUpOne(pool));
}

/** One day in a transaction. Returns false if none is left, or another process sums up. */
async function sumUpOne(pool: pg.Pool): Promise<boolean> {
  const begin = `begin; set local statement_timeout = ${PATIENCE_MS}; set local plan_cache_mode = force_custom_plan; ${READ_WHOLE}`;
  return inTransaction(pool, begin, async (client) => {
    const [turn] = await run<{ summedUntil: UtcDay; until: UtcDay }>(client, TAKE_TURN, []);
    if (turn === undefined) return false;
    const { summedUntil, until } = turn;
    const firstOf = async (statement: typeof FIRST_LATE) =>
      (await only<{ id: string | null }>(client, statement, [firstId(summedUntil)])).id;
    const late = await firstOf(FIRST_LATE);
    const next = late ?? (await firstOf(FIRST_UNSUMMED));
    const day = next === null ? until : utcDay(idMoment(next));
    if (day >= until) {
      // Also back, after PostgreSQL's clock was ahead.
      if (summedUntil !== until) await run(client, MOVE_TO, [until]);
      return false;
    }
    // Marks go first: a row that is not in the sum below keeps its mark.
    await run(client, FORGET_LATE, [firstId(day), firstId(day + 1)]);
    await readPatiently(client, SUM_UP, [firstId(day), firstId(day + 1), day]);
    if (day >= summedUntil) await run(client, MOVE_TO, [day + 1]);
    return true;
  });
}

/** Sums up until the returned function is called, but not while the process starts. */
export function keepCostDays(pool: pg.Pool, log: StoreLog): () => void {
  let isStopped = false;
  const timer = setInterval(() => {
    sumUpCostDays(pool).catch((error: unknown) => {
      if (!isStopped) log.warn({ error: String(error) }, 'costs could not be summed up by days yet');
    });
  }, CHECK_EVERY_MS);
  timer.unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

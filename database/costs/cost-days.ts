import type pg from 'pg';
import { DAY_MS, type UtcDay, utcDay } from '#core/clock.ts';
import { idFloor, idMoment } from '#core/ids.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { createPool, inTransaction, only, type StoreLog, sql, type Timeouts } from '../connection/connection-pool.ts';
import { PATIENTLY, readPatiently } from '../connection/patient-session.ts';
import { isRollback } from '../connection/unavailable.ts';
import { LATE, rowsOfCosts } from './booked-costs.ts';

/** Sorts after every generation. */
const AFTER_ALL_GENERATIONS = 'gen-8';
const CHECK_EVERY_MS = 600_000;

function firstId(day: UtcDay): string {
  return idFloor('gen', day * DAY_MS);
}

const SUMMED_UNTIL = sql('cost_days_summed_until')`
  select summed_until - date '1970-01-01' as day from cost_progress`;

/**
 * The parameters of `bookedCosts`: the range as ids, the days whose sums are read, and where these
 * begin and end as ids. A day that is summed up meanwhile is still read from its rows.
 */
export async function costRange(pool: pg.Pool, sinceMs: number, untilMs?: number): Promise<unknown[]> {
  const { day: summedUntil } = await only<{ day: UtcDay }>(pool, SUMMED_UNTIL, []);
  const until = untilMs === undefined ? AFTER_ALL_GENERATIONS : idFloor('gen', untilMs);
  const since = idFloor('gen', sinceMs);
  const first = Math.max(0, Math.ceil(sinceMs / DAY_MS));
  const end = untilMs === undefined ? summedUntil : Math.min(summedUntil, utcDay(untilMs));
  return end <= first
    ? [since, until, first, first, since, since]
    : [since, until, first, end, firstId(first), firstId(end)];
}

/**
 * Only one process sums up. Rows of a day come at most six hours after its end without being marked
 * as late: the last request may take an hour.
 */
const TAKE_TURN = `
  select summed_until - date '1970-01-01' as "summedUntil", (now() at time zone 'UTC' - interval '7 hours')::date - date '1970-01-01' as until
    from cost_progress for update skip locked`;
/** A generation of the next day to sum up: the first with late rows, or else without sums. */
const NEXT = `
  select coalesce(
      (select min(generation_id) from late_costs where generation_id < $1),
      least((select min(id) from generations where id >= $1), (select min(generation_id) from uncharged_costs where generation_id >= $1))
    ) as id`;
const MOVE_TO = `update cost_progress set summed_until = date '1970-01-01' + $1::integer`;
const FORGET_LATE = `delete from late_costs where generation_id >= $1 and generation_id < $2`;
const FORGET_SUMS = `delete from cost_days where day = date '1970-01-01' + $1::integer`;

/**
 * The day has sums, but none of the generations that were summed up. Their attempts are deleted
 * later. A day of attempts alone is archived when these are. Rows are counted, because for `exists`
 * the planner expects to find one soon, and would look up each mark of a day that is all late.
 */
const IS_ARCHIVED = `
  select bool_or(archived) or case when sum(requests) > 0
    then (select count(*) from generations g where g.id >= $1 and g.id < $2 and not ${LATE.charge})
    else (select count(*) from uncharged_costs u where u.generation_id >= $1 and u.generation_id < $2 and not ${LATE.attempt})
    end = 0 as archived
  from cost_days where day = date '1970-01-01' + $3::integer having count(*) > 0`;

function addToSums(isArchived: boolean): string {
  const rows = rowsOfCosts(
    { from: '$1', to: '$2' },
    () => ['organization_id', 'model', 'provider'],
    isArchived ? LATE : undefined,
  );
  return `
  insert into cost_days as d (
    day, organization_id, model, provider, requests, revenue_nano_usd, list_nano_usd, cost_nano_usd, known_revenue_nano_usd, unknown, archived
  )
  select date '1970-01-01' + $3::integer, organization_id, model, provider, sum(requests), sum(revenue), sum(list), sum(cost),
    sum(known_revenue), bool_or(unknown), ${isArchived}
  from (${rows}) as booked
  group by organization_id, model, provider
  on conflict (day, organization_id, model, provider) do update set
    requests = d.requests + excluded.requests,
    revenue_nano_usd = d.revenue_nano_usd + excluded.revenue_nano_usd,
    list_nano_usd = d.list_nano_usd + excluded.list_nano_usd,
    cost_nano_usd = d.cost_nano_usd + excluded.cost_nano_usd,
    known_revenue_nano_usd = d.known_revenue_nano_usd + excluded.known_revenue_nano_usd,
    unknown = d.unknown or excluded.unknown,
    archived = excluded.archived`;
}

/** Sums up the days that are over, and those again to which late rows were added. */
export async function sumUpCostDays(pool: pg.Pool): Promise<void> {
  while (await sumUpOne(pool));
}

/**
 * One day in a transaction, of one moment: a row that is not in the sum keeps its mark. Returns
 * false if none is left, or another process sums up.
 */
async function sumUpOne(pool: pg.Pool): Promise<boolean> {
  try {
    return await inTransaction(pool, `begin isolation level repeatable read; ${PATIENTLY}`, sumUpNext);
  } catch (error) {
    if (isRollback(error)) return false;
    throw error;
  }
}

async function sumUpNext(client: pg.PoolClient): Promise<boolean> {
  const [turn] = await readPatiently<{ summedUntil: UtcDay; until: UtcDay }>(client, TAKE_TURN, []);
  if (turn === undefined) return false;
  const { summedUntil, until } = turn;
  const [next] = await readPatiently<{ id: string | null }>(client, NEXT, [firstId(summedUntil)]);
  const day = next?.id ? utcDay(idMoment(next.id)) : until;
  if (day >= until) {
    // Also back, after PostgreSQL's clock was ahead.
    if (summedUntil !== until) await readPatiently(client, MOVE_TO, [until]);
    return false;
  }
  await replaceOrAdd(client, day);
  if (day >= summedUntil) await readPatiently(client, MOVE_TO, [day + 1]);
  return true;
}

/** To a day whose rows were archived, late ones are added. Any other is summed up as a whole. */
async function replaceOrAdd(client: pg.PoolClient, day: UtcDay): Promise<void> {
  const ids = [firstId(day), firstId(day + 1)];
  const [found] = await readPatiently<{ archived: boolean }>(client, IS_ARCHIVED, [...ids, day]);
  const isArchived = found?.archived === true;
  if (!isArchived) await readPatiently(client, FORGET_SUMS, [day]);
  await readPatiently(client, addToSums(isArchived), [...ids, day]);
  await readPatiently(client, FORGET_LATE, ids);
}

/**
 * Sums up until the returned function is called, but not while the process starts. The one
 * connection is opened for it, because a sum may take longer than the pause, and closed afterwards.
 */
export function keepCostDays(url: string, timeouts: Timeouts, log: StoreLog): () => void {
  const sumUp = async (): Promise<void> => {
    const pool = createPool(url, 1, timeouts, log);
    await sumUpCostDays(pool).finally(() => pool.end());
  };
  return keepDoing(
    CHECK_EVERY_MS,
    sumUp,
    (error) => log.warn({ error: String(error) }, 'costs could not be summed up by days yet'),
    'after a pause',
  );
}

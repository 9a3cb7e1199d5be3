import type pg from 'pg';
import { DAY_MS } from '../../core/clock.ts';
import { idFloor } from '../../core/ids.ts';
import type { CostGroup, CostQuery, CostRow, CostSums, DailyCostQuery, DailyCostRow } from './costs.ts';
import { readWhole } from './read-whole.ts';

/** Sorts after every generation. */
const AFTER_ALL_GENERATIONS = 'gen-8';

const COLUMN: Readonly<Record<CostGroup, string>> = {
  model: 'model',
  provider: 'provider',
  organization: 'organization_id',
};

/** The range of a statement: expressions for its first id and the first one after it. */
interface IdRange {
  readonly from: string;
  readonly to: string;
}

/**
 * SQL of the sums of a range by `subject`, an expression over a row. Everything belongs to the time
 * of its request. Costs are unknown if one is: of a charge with tokens, or of an uncharged attempt.
 * An attempt that was charged after all is counted once, as `provider_calls` does
 * (0017_provider_attempts.sql).
 */
function sumsSql({ from, to }: IdRange, subject: string, filter = 'true'): string {
  return `
    with charged as (
      select ${subject} as subject, count(*) as requests, sum(g.cost_nano_usd) as revenue, sum(c.cost_nano_usd) as cost,
        bool_or(c.cost_nano_usd is null and g.prompt_tokens + g.completion_tokens > 0) as unknown
      from generations g left join generation_costs c on c.generation_id = g.id
      where g.id >= ${from} and g.id < ${to} and ${filter} group by 1
    ), uncharged as (
      select ${subject} as subject, sum(u.cost_nano_usd) as cost, bool_or(u.cost_nano_usd is null) as unknown
      from uncharged_costs u where u.generation_id >= ${from} and u.generation_id < ${to} and ${filter} and (
        u.reason not in ('not_charged', 'crash') or not exists (select from generations g where g.id = u.generation_id)
      ) group by 1
    ), lost as (
      select ${subject} as subject, sum(amount_nano_usd) as losses
      from losses where generation_id >= ${from} and generation_id < ${to} and ${filter} group by 1
    )
    select subject, coalesce(c.requests, 0) as requests, coalesce(c.revenue, 0) as revenue, coalesce(l.losses, 0) as losses,
      case when not coalesce(c.unknown, false) and not coalesce(u.unknown, false)
        then coalesce(c.cost, 0) + coalesce(u.cost, 0) end as cost
    from charged c full join uncharged u using (subject) full join lost l using (subject)`;
}

/** Reports costs, margin and losses, the largest revenue first. */
export async function costReport(pool: pg.Pool, query: CostQuery): Promise<readonly CostRow[]> {
  const { sinceMs, untilMs, by, timeoutMs } = query;
  const until = untilMs === undefined ? AFTER_ALL_GENERATIONS : firstId(untilMs);
  const rows = await readWhole<SumsRow & { readonly subject: string }>(pool, {
    text: `${sumsSql({ from: '$1', to: '$2' }, COLUMN[by])} order by revenue desc, subject`,
    values: [firstId(sinceMs), until],
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  return rows.map((row) => ({ subject: row.subject, ...sumsOf(row) }));
}

/** The same sums for each UTC day, oldest first, also for days without a request. */
export async function dailyCosts(pool: pg.Pool, query: DailyCostQuery): Promise<readonly DailyCostRow[]> {
  const { firstDay, lastDay, only, timeoutMs } = query;
  const days = Array.from({ length: lastDay - firstDay + 1 }, (_, index) => firstDay + index);
  const filter = only === undefined ? undefined : `${COLUMN[only.by]} = $3`;
  const sums = sumsSql({ from: 'd.first_id', to: 'd.next_id' }, `''`, filter);
  const rows = await readWhole<SumsRow & { readonly at: string }>(pool, {
    text: `
      select d.at, s.* from unnest($1::text[], $2::text[]) with ordinality d (first_id, next_id, at)
      cross join lateral (${sums}) s order by d.at`,
    values: [
      days.map((day) => firstId(day * DAY_MS)),
      days.map((day) => firstId((day + 1) * DAY_MS)),
      ...(only === undefined ? [] : [only.subject]),
    ],
    timeoutMs,
  });
  const found = new Map(rows.map((row) => [firstDay + Number(row.at) - 1, sumsOf(row)]));
  return days.map((day) => ({ day, ...(found.get(day) ?? NOTHING) }));
}

const NOTHING: CostSums = { requests: 0, revenueNanoUsd: 0n, costNanoUsd: 0n, lossesNanoUsd: 0n };

interface SumsRow extends Record<'requests' | 'revenue' | 'losses', string> {
  readonly cost: string | null;
}

function sumsOf({ requests, revenue, cost, losses }: SumsRow): CostSums {
  return {
    requests: Number(requests),
    revenueNanoUsd: BigInt(revenue),
    ...(cost === null ? {} : { costNanoUsd: BigInt(cost) }),
    lossesNanoUsd: BigInt(losses),
  };
}

function firstId(ms: number): string {
  return idFloor('gen', Math.max(0, ms));
}

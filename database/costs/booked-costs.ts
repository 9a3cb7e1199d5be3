/** SQL expressions for the first id of a range, and the first id after it. */
interface IdRange {
  readonly from: string;
  readonly to: string;
}

/**
 * SQL of requests, revenue, list price, cost and losses in a range, by groups. Groups are
 * expressions over the id of a generation and the columns `model`, `provider` and
 * `organization_id`. Everything counts at the time of its request. `unknown`: some target that used
 * tokens has no costs. An attempt that was charged after all counts once, as in `provider_calls`. A
 * group may have several rows, which the caller adds up. The range is repeated for the costs,
 * because the planner does not infer it and would scan those of all time.
 */
export function bookedCosts({ from, to }: IdRange, groups: (id: string) => readonly string[]): string {
  const columns = (id: string) => groups(id).join(', ');
  const by = groups('id')
    .map((_, index) => index + 1)
    .join(', ');
  return `
    select ${columns('g.id')}, count(*) as requests, sum(g.cost_nano_usd) as revenue,
      sum(coalesce(c.list_nano_usd, g.cost_nano_usd)) as list, coalesce(sum(c.cost_nano_usd), 0) as cost,
      coalesce(sum(g.cost_nano_usd) filter (where c.cost_nano_usd is not null or g.prompt_tokens + g.completion_tokens = 0), 0) as known_revenue,
      bool_or(c.cost_nano_usd is null and g.prompt_tokens + g.completion_tokens > 0) as unknown, 0 as losses
    from generations g
    left join generation_costs c on c.generation_id = g.id and c.generation_id >= ${from} and c.generation_id < ${to}
    where g.id >= ${from} and g.id < ${to} group by ${by}
    union all
    select ${columns('u.generation_id')}, 0, 0, 0, coalesce(sum(u.cost_nano_usd), 0), 0, bool_or(u.cost_nano_usd is null), 0
    from uncharged_costs u where u.generation_id >= ${from} and u.generation_id < ${to} and (
      u.reason not in ('not_charged', 'crash') or not exists (select from generations g where g.id = u.generation_id)
    ) group by ${by}
    union all
    select ${columns('generation_id')}, 0, 0, 0, 0, 0, false, sum(amount_nano_usd)
    from losses where generation_id >= ${from} and generation_id < ${to} group by ${by}`;
}

/**
 * Sums over rows of `bookedCosts`. The cost is null if any part is unknown. `knownRevenue` is the
 * revenue of the requests whose cost is known.
 */
export const SUMS_OF_BOOKED = `sum(requests)::float8 as requests, sum(revenue) as "revenueNanoUsd", sum(list) as "listNanoUsd",
  sum(losses) as "lossesNanoUsd", case when not bool_or(unknown) then sum(cost) end as "costNanoUsd",
  sum(cost) as "knownCost", sum(known_revenue) as "knownRevenue"`;

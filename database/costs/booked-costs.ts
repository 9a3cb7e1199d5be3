/**
 * SQL of requests, revenue, list price, cost and losses in a range, by groups. Everything counts at
 * the time of its request. The parameters are those of `costRange` (cost-days.ts).
 */

/**
 * Groups are expressions over the columns `model`, `provider` and `organization_id`, and the day:
 * by the id of a generation, or `undefined` for the column `day` of sums. A group may have several
 * rows, which the caller adds up.
 */
export type GroupsOf = (id: string | undefined) => readonly string[];

export function bookedCosts(groups: GroupsOf): string {
  return `
    ${rowsOfCosts({ from: '$1', to: '$5' }, groups)}
    union all
    select ${groups(undefined).join(', ')}, requests, revenue_nano_usd, list_nano_usd, cost_nano_usd, known_revenue_nano_usd, unknown, 0
    from cost_days where day >= date '1970-01-01' + $3::integer and day < date '1970-01-01' + $4::integer
    union all
    ${rowsOfCosts({ from: '$6', to: '$2' }, groups)}
    union all
    select ${groups('generation_id').join(', ')}, 0, 0, 0, 0, 0, false, sum(amount_nano_usd)
    from losses where generation_id >= $1 and generation_id < $2 group by ${positions(groups)}`;
}

/** Parameters of the first id of a range, and the first id after it. */
interface IdRange {
  readonly from: string;
  readonly to: string;
}

/** Conditions on rows `g` of `generations` and `u` of `uncharged_costs`. */
interface RowFilter {
  readonly charge: string;
  readonly attempt: string;
}

export const LATE: RowFilter = {
  charge: 'exists (select from late_costs l where l.generation_id = g.id and l.attempt is null)',
  attempt: 'exists (select from late_costs l where l.generation_id = u.generation_id and l.attempt = u.attempt)',
};
const ALL: RowFilter = { charge: 'true', attempt: 'true' };

/**
 * The same without losses, from each row. `unknown`: some target that used tokens has no costs. An
 * attempt that was charged after all counts once, as in `provider_calls`. The range is repeated for
 * the costs, because the planner does not infer it and would scan those of all time.
 */
export function rowsOfCosts({ from, to }: IdRange, groups: GroupsOf, { charge, attempt } = ALL): string {
  return `
    select ${groups('g.id').join(', ')}, count(*) as requests, sum(g.cost_nano_usd) as revenue,
      sum(coalesce(c.list_nano_usd, g.cost_nano_usd)) as list, coalesce(sum(c.cost_nano_usd), 0) as cost,
      coalesce(sum(g.cost_nano_usd) filter (where c.cost_nano_usd is not null or g.prompt_tokens + g.completion_tokens = 0), 0) as known_revenue,
      bool_or(c.cost_nano_usd is null and g.prompt_tokens + g.completion_tokens > 0) as unknown, 0 as losses
    from generations g
    left join generation_costs c on c.generation_id = g.id and c.generation_id >= ${from} and c.generation_id < ${to}
    where g.id >= ${from} and g.id < ${to} and ${charge} group by ${positions(groups)}
    union all
    select ${groups('u.generation_id').join(', ')}, 0, 0, 0, coalesce(sum(u.cost_nano_usd), 0), 0, bool_or(u.cost_nano_usd is null), 0
    from uncharged_costs u where u.generation_id >= ${from} and u.generation_id < ${to} and ${attempt} and (
      u.reason not in ('not_charged', 'crash') or not exists (select from generations g where g.id = u.generation_id)
    ) group by ${positions(groups)}`;
}

function positions(groups: GroupsOf): string {
  return groups('id')
    .map((_, index) => index + 1)
    .join(', ');
}

/**
 * Sums over rows of `bookedCosts`. The cost is null if any part is unknown. `knownRevenue` is the
 * revenue of the requests whose cost is known.
 */
export const SUMS_OF_BOOKED = `sum(requests)::float8 as requests, sum(revenue) as "revenueNanoUsd", sum(list) as "listNanoUsd",
  sum(losses) as "lossesNanoUsd", case when not bool_or(unknown) then sum(cost) end as "costNanoUsd",
  sum(cost) as "knownCost", sum(known_revenue) as "knownRevenue"`;

import type pg from 'pg';
import type { CostGroupName, CostRowView } from '#contract/costs.ts';
import { DAY_MS, type UtcDay, utcDayText } from '#core/clock.ts';
import { idFloor } from '#core/ids.ts';
import { present } from '#core/present.ts';
import { run } from '../connection/connection-pool.ts';
import { bookedCosts, SUMS_OF_BOOKED } from './booked-costs.ts';
import type { CostGroup } from './costs.ts';

/** Range of a table of costs, by the arrival of requests. */
export interface CostTableQuery {
  /** Both inclusive. */
  readonly firstDay: UtcDay;
  readonly lastDay: UtcDay;
  readonly groupBy: ReadonlySet<CostGroupName>;
}

const COLUMNS = { model: 'model', provider: 'provider', organization: 'organization_id' } as const;

/** The day is read from the id: it is the place of the id among the first ids of the days. */
function costSql(groupBy: ReadonlySet<CostGroupName>): string {
  const groupsOf = (id: string) => [
    `${groupBy.has('day') ? `width_bucket(${id}, $4::text[]) - 1` : 'null::integer'} as day_of_range`,
    ...(Object.keys(COLUMNS) as CostGroup[]).map(
      (group) => `${groupBy.has(group) ? COLUMNS[group] : 'null::text'} as ${COLUMNS[group]}`,
    ),
  ];
  return `
    select s.*, o.name as organization_name from (
      select day_of_range, model, provider, organization_id, ${SUMS_OF_BOOKED}
      from (${bookedCosts({ from: '$1', to: '$2' }, groupsOf)}) as booked
      group by 1, 2, 3, 4
      order by 1 desc, revenue desc, 2, 3, 4 limit $3
    ) as s left join organizations o on o.id = s.organization_id
    order by s.day_of_range desc, s.revenue desc, s.model, s.provider, s.organization_id`;
}

interface CostTableRow {
  readonly day_of_range: number | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly organization_id: string | null;
  readonly organization_name: string | null;
  readonly requests: string;
  readonly revenue: string;
  readonly list: string;
  /** Null: unknown. */
  readonly cost: string | null;
  readonly known_cost: string;
  readonly known_revenue: string;
  readonly losses: string;
}

/** Newest day first, then the largest revenue. One row at most where nothing is grouped. */
export async function costTable(pool: pg.Pool, query: CostTableQuery, limit: number): Promise<readonly CostRowView[]> {
  const { firstDay, lastDay, groupBy } = query;
  const days = Array.from({ length: lastDay - firstDay + 1 }, (_, i) => firstDay + i);
  const starts = [...days, lastDay + 1].map((day) => idFloor('gen', Math.max(0, day * DAY_MS)));
  const name = `cost_table_${[...groupBy].toSorted().join('_')}`;
  const ofDays = groupBy.has('day') ? [starts.slice(0, -1)] : [];
  const values = [starts[0], starts.at(-1), limit, ...ofDays];
  const rows = await run<CostTableRow>(pool, { name, text: costSql(groupBy) }, values);
  return rows.map((row) => ({
    ...present({
      day: row.day_of_range === null ? undefined : utcDayText(firstDay + row.day_of_range),
      model: row.model ?? undefined,
      provider: row.provider ?? undefined,
      organizationId: row.organization_id ?? undefined,
      organizationName: row.organization_name ?? undefined,
    }),
    requests: Number(row.requests),
    revenueNanoUsd: row.revenue,
    listNanoUsd: row.list,
    ...(row.cost === null
      ? present({ known: knownOf(row) })
      : { costNanoUsd: row.cost, marginNanoUsd: String(BigInt(row.revenue) - BigInt(row.cost)) }),
    lossesNanoUsd: row.losses,
  }));
}

function knownOf({ known_revenue: revenueNanoUsd, known_cost: costNanoUsd }: CostTableRow) {
  return revenueNanoUsd === '0' ? undefined : { revenueNanoUsd, costNanoUsd };
}

export async function costTotal(pool: pg.Pool, query: CostTableQuery): Promise<CostRowView> {
  const [total] = await costTable(pool, { ...query, groupBy: new Set() }, 1);
  return total ?? { requests: 0, revenueNanoUsd: '0', listNanoUsd: '0', lossesNanoUsd: '0' };
}

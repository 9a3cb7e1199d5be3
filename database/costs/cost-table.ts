import type pg from 'pg';
import type { CostGroupName, CostRowView } from '#contract/costs.ts';
import { DAY_MS, type UtcDay, utcDayText } from '#core/clock.ts';
import { idFloor } from '#core/ids.ts';
import { records } from '../connection/connection-pool.ts';
import { bookedCosts, type GroupsOf, SUMS_OF_BOOKED } from './booked-costs.ts';
import { costRange } from './cost-days.ts';
import type { CostGroup } from './costs.ts';

/** Query of a cost table. Requests count on the day of their arrival. */
export interface CostTableQuery {
  /** Both days are inclusive. */
  readonly firstDay: UtcDay;
  readonly lastDay: UtcDay;
  readonly groupBy: ReadonlySet<CostGroupName>;
}

const COLUMNS = { model: 'model', provider: 'provider', organization: 'organization_id' } as const;
/** The same columns under the names in a row of the table. */
const NAMES = { ...COLUMNS, organization: '"organizationId"' };

/** The day of a generation follows from its id, by its position among the first ids of the days. */
const dayOf = (id: string | undefined) =>
  id === undefined ? `day - (date '1970-01-01' + $3::integer)` : `width_bucket(${id}, $8::text[]) - 1`;

function costSql(groupBy: ReadonlySet<CostGroupName>): string {
  const groupsOf: GroupsOf = (id) => [
    `${groupBy.has('day') ? dayOf(id) : 'null::integer'} as "dayOfRange"`,
    ...(Object.keys(COLUMNS) as CostGroup[]).map(
      (group) => `${groupBy.has(group) ? COLUMNS[group] : 'null::text'} as ${NAMES[group]}`,
    ),
  ];
  return `
    select s.*, o.name as "organizationName" from (
      select "dayOfRange", model, provider, "organizationId", ${SUMS_OF_BOOKED}
      from (${bookedCosts(groupsOf)}) as booked
      group by 1, 2, 3, 4
      order by 1 desc, "revenueNanoUsd" desc, 2, 3, 4 limit $7
    ) as s left join organizations o on o.id = s."organizationId"
    order by s."dayOfRange" desc, s."revenueNanoUsd" desc, s.model, s.provider, s."organizationId"`;
}

interface CostTableRow extends Omit<CostRowView, 'day' | 'known' | 'marginNanoUsd'> {
  readonly dayOfRange?: number;
  readonly knownCost: string;
  readonly knownRevenue: string;
}

/** Newest day first, then by revenue. Without groups at most one row. */
export async function costTable(pool: pg.Pool, query: CostTableQuery, limit: number): Promise<readonly CostRowView[]> {
  const { firstDay, lastDay, groupBy } = query;
  const days = Array.from({ length: lastDay - firstDay + 1 }, (_, i) => firstDay + i);
  const starts = days.map((day) => idFloor('gen', day * DAY_MS));
  const name = `cost_table_${[...groupBy].toSorted().join('_')}`;
  const range = await costRange(pool, firstDay * DAY_MS, (lastDay + 1) * DAY_MS);
  const values = [...range, limit, ...(groupBy.has('day') ? [starts] : [])];
  const rows = await records<CostTableRow>(pool, { name, text: costSql(groupBy) }, values);
  return rows.map(({ dayOfRange, knownCost, knownRevenue, lossesNanoUsd, ...row }) => ({
    ...(dayOfRange === undefined ? {} : { day: utcDayText(firstDay + dayOfRange) }),
    ...row,
    ...(row.costNanoUsd === undefined
      ? knownPart(knownRevenue, knownCost)
      : { marginNanoUsd: String(BigInt(row.revenueNanoUsd) - BigInt(row.costNanoUsd)) }),
    lossesNanoUsd,
  }));
}

function knownPart(revenueNanoUsd: string, costNanoUsd: string): Pick<CostRowView, 'known'> {
  return revenueNanoUsd === '0' ? {} : { known: { revenueNanoUsd, costNanoUsd } };
}

export async function costTotal(pool: pg.Pool, query: CostTableQuery): Promise<CostRowView> {
  const [total] = await costTable(pool, { ...query, groupBy: new Set() }, 1);
  return total ?? { requests: 0, revenueNanoUsd: '0', listNanoUsd: '0', lossesNanoUsd: '0' };
}

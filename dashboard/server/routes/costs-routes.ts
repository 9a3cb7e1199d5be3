import { type CostGroupName, type CostsInput, costsInput } from '#contract/costs.ts';
import { dayOf } from '#contract/fields.ts';
import { csvLines } from '#core/csv-lines.ts';
import { type CostTableQuery, costTable, costTotal } from '#database/costs/cost-table.ts';
import { isProblem, type Problem, wrongField } from '../http/problem.ts';
import { csvRoute, type Route, route } from '../http/route.ts';
import { costColumns } from './csv-tables.ts';

/** Bound of rows on the page. The CSV has all rows. */
const MOST_ROWS = 2_000;
/** Bound for each day, or for the whole period if rows are not grouped by day. */
const MOST_CSV_ROWS = 100_000;
/** Bound of days, because all their generations are read. */
const MOST_DAYS = 366;
const GROUPS: readonly CostGroupName[] = ['day', 'model', 'provider', 'organization'];

/** Operators see what providers are paid, which customers never do. */
export const COSTS_ROUTES: readonly Route[] = [
  route('GET /api/costs', {
    access: 'operator',
    input: costsInput,
    async handle({ deps, input }) {
      const query = costQuery(input);
      if (isProblem(query)) return query;
      const [rows, total] = await Promise.all([
        costTable(deps.database, query, MOST_ROWS + 1),
        costTotal(deps.database, query),
      ]);
      return { rows: rows.slice(0, MOST_ROWS), total, cut: rows.length > MOST_ROWS };
    },
  }),
  csvRoute('/api/costs.csv', {
    access: 'operator',
    input: costsInput,
    async handle({ deps, input }) {
      const query = costQuery(input);
      if (isProblem(query)) return query;
      const { groupBy, firstDay, lastDay } = query;
      return csvLines(costColumns(groupBy), async (day: number = lastDay) => {
        if (!groupBy.has('day')) return { rows: await costTable(deps.database, query, MOST_CSV_ROWS) };
        const rows = await costTable(deps.database, { ...query, firstDay: day, lastDay: day }, MOST_CSV_ROWS);
        return { rows, ...(day > firstDay ? { next: day - 1 } : {}) };
      });
    },
  }),
];

function costQuery({ from, to, by }: CostsInput): CostTableQuery | Problem {
  const [firstDay, lastDay] = [dayOf(from), dayOf(to)];
  if (firstDay > lastDay) return wrongField('from', 'This is after the last day.');
  if (lastDay - firstDay >= MOST_DAYS) return wrongField('from', `At most ${MOST_DAYS} days.`);
  return { firstDay, lastDay, groupBy: new Set(GROUPS.filter((group) => by.split(',').includes(group))) };
}

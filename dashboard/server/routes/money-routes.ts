import { ledgerPage } from '#database/ledger/ledger-pages.ts';
import { usageRows, usageTotal } from '#database/ledger/usage-reads.ts';
import { isProblem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import { ledgerPageInput, usageInput, usageQuery } from './table-filters.ts';

const PAGE_ROWS = 50;
/** Bound on the rows of the page. The CSV has all of them. */
const MOST_USAGE_ROWS = 2_000;

export const MONEY_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/ledger', {
    access: 'member',
    input: ledgerPageInput,
    handle: ({ deps, organizationId, role, input }) =>
      ledgerPage(deps.database, { organizationId, forCustomer: role !== 'operator', ...input, limit: PAGE_ROWS }),
  }),
  route('GET /api/organizations/:organization/usage', {
    access: 'member',
    input: usageInput,
    async handle({ deps, organizationId, input }) {
      const query = usageQuery(organizationId, input);
      if (isProblem(query)) return query;
      const [rows, total] = await Promise.all([
        usageRows(deps.database, query, MOST_USAGE_ROWS + 1),
        usageTotal(deps.database, query),
      ]);
      return { rows: rows.slice(0, MOST_USAGE_ROWS), total, cut: rows.length > MOST_USAGE_ROWS };
    },
  }),
];

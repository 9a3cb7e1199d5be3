import { ledgerPageInput } from '#contract/money.ts';
import { ledgerPage } from '#database/ledger/ledger-pages.ts';
import { type Route, route } from '../http/route.ts';

const PAGE_ROWS = 50;

export const MONEY_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/ledger', {
    access: 'member',
    input: ledgerPageInput,
    handle: ({ deps, organizationId, role, input }) =>
      ledgerPage(deps.database, { organizationId, forCustomer: role !== 'operator', ...input, limit: PAGE_ROWS }),
  }),
];

import { ledgerFilter } from '#contract/money.ts';
import type { RequestFilter } from '#contract/request-log.ts';
import { csvLines } from '#core/csv-lines.ts';
import { isInGroup, matchesSearch } from '#core/key-filter.ts';
import { present } from '#core/present.ts';
import { KEY_CSV_COLUMNS, type ListedKey, readKeyTable } from '#database/keys/key-table.ts';
import { ledgerPage } from '#database/ledger/ledger-pages.ts';
import { requestDetail } from '#database/request-log/request-columns.ts';
import type { Database } from '../fairness/stores.ts';
import { csvRoute, type Deps, type Route } from '../http/route.ts';
import { CSV_LEDGER_COLUMNS, requestColumns } from './csv-tables.ts';
import { readRequests } from './requests-routes.ts';
import { everyRequestFilter, type KeyFilter, keyFilter, requestFilter } from './table-filters.ts';

export const CSV_ROUTES: readonly Route[] = [
  csvRoute('/api/organizations/:organization/requests.csv', {
    access: 'member',
    input: requestFilter,
    lines: async ({ deps, organizationId, input }) => requestLines(deps, organizationId, input),
  }),
  csvRoute('/api/requests.csv', {
    access: 'operator',
    input: everyRequestFilter,
    lines: async ({ deps, input }) => requestLines(deps, undefined, input),
  }),
  csvRoute('/api/organizations/:organization/ledger.csv', {
    access: 'member',
    input: ledgerFilter,
    lines: async ({ deps, organizationId, role, input }) =>
      csvLines(CSV_LEDGER_COLUMNS, async (before: number | undefined, limit) => {
        const from = before === undefined ? {} : { before };
        const { entries, next } = await ledgerPage(deps.database, {
          organizationId,
          forCustomer: role !== 'operator',
          ...input,
          ...from,
          limit,
        });
        return { rows: entries, ...present({ next }) };
      }),
  }),
  csvRoute('/api/organizations/:organization/keys.csv', {
    access: 'member',
    input: keyFilter,
    lines: async ({ deps, organizationId, input }) => keyLines(deps.database, organizationId, input, deps.nowMs()),
  }),
];

function keyLines(database: Database, organizationId: string, { show, search = '' }: KeyFilter, nowMs: number) {
  return csvLines(KEY_CSV_COLUMNS, async (before: string | undefined, limit) => {
    const from = before === undefined ? {} : { before };
    const { rows, next } = await readKeyTable(database, { organizationId, ...from, limit }, nowMs);
    const isShown = ({ key, state, details }: ListedKey) => {
      const listed = { ...key, state, ...present({ createdBy: details?.creator }) };
      return isInGroup(listed, show, nowMs) && matchesSearch(listed, search);
    };
    return { rows: rows.filter(isShown), ...present({ next }) };
  });
}

function requestLines({ database, settings }: Deps, organizationId: string | undefined, filter: RequestFilter) {
  const columns = requestColumns(settings().apis.length > 0, organizationId === undefined);
  return csvLines(columns, async (before: string | undefined, limit) => {
    const page = { ...filter, ...present({ before }), limit };
    const { rows, next } = await readRequests(database, organizationId, page);
    return { rows: rows.map((row) => requestDetail(row)), ...present({ next }) };
  });
}

import { auditFilter, auditPageInput, everyAuditFilter, everyAuditInput } from '#contract/people.ts';
import { csvLines } from '#core/csv-lines.ts';
import { present } from '#core/present.ts';
import { type AuditQuery, auditPage } from '#database/audit/audit-pages.ts';
import { csvRoute, type Deps, type Route, route } from '../http/route.ts';
import { auditColumns } from './csv-tables.ts';

const PAGE_ROWS = 50;
/** An event that replaces the longest lists of a key needs some 35 KB, so a step is below 4 MB. */
const CSV_STEP_ROWS = 100;

export const AUDIT_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/audit', {
    access: 'owner',
    input: auditPageInput,
    handle: ({ deps, organizationId, role, input }) =>
      auditPage(deps.database, { organizationId, forCustomer: role !== 'operator', ...input, limit: PAGE_ROWS }),
  }),
  csvRoute('/api/organizations/:organization/audit.csv', {
    access: 'owner',
    input: auditFilter,
    handle: async ({ deps, organizationId, role, input }) =>
      auditLines(deps, { organizationId, forCustomer: role !== 'operator', ...input }),
  }),
  route('GET /api/audit', {
    access: 'operator',
    input: everyAuditInput,
    handle: ({ deps, input: { organization: organizationId, ...rest } }) =>
      auditPage(deps.database, { ...present({ organizationId }), forCustomer: false, ...rest, limit: PAGE_ROWS }),
  }),
  csvRoute('/api/audit.csv', {
    access: 'operator',
    input: everyAuditFilter,
    handle: async ({ deps, input: { organization: organizationId, ...rest } }) =>
      auditLines(deps, { ...present({ organizationId }), forCustomer: false, ...rest }),
  }),
];

function auditLines({ database }: Deps, filter: Omit<AuditQuery, 'before' | 'limit'>) {
  const read = async (before: string | undefined, limit: number) => {
    const { events, next } = await auditPage(database, { ...filter, ...present({ before }), limit });
    return { rows: events, ...present({ next }) };
  };
  return csvLines(auditColumns(filter.organizationId === undefined), read, { stepRows: CSV_STEP_ROWS });
}

import { auditPageInput, everyAuditInput } from '#contract/people.ts';
import { auditPage } from '#database/audit/audit-pages.ts';
import { type Route, route } from '../http/route.ts';

const PAGE_ROWS = 50;

export const AUDIT_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/audit', {
    access: 'owner',
    input: auditPageInput,
    handle: ({ deps, organizationId, role, input }) =>
      auditPage(deps.database, { organizationId, forCustomer: role !== 'operator', ...input, limit: PAGE_ROWS }),
  }),
  route('GET /api/audit', {
    access: 'operator',
    input: everyAuditInput,
    handle({ deps, input: { organization, ...rest } }) {
      const about = organization === undefined ? {} : { organizationId: organization };
      return auditPage(deps.database, { ...about, forCustomer: false, ...rest, limit: PAGE_ROWS });
    },
  }),
];

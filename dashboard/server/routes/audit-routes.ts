import { z } from 'zod';
import { auditPage } from '#database/audit/audit-pages.ts';
import { type Route, route } from '../http/route.ts';
import { idOf } from './input-fields.ts';
import { momentField, textField } from './query-fields.ts';

const PAGE_ROWS = 50;
const filter = {
  before: idOf('evt').exactOptional(),
  actor: textField.exactOptional(),
  action: z
    .string()
    .regex(/^[a-z_]{1,40}\.[a-z_]{1,40}$/, { error: 'An action such as key.revoked.' })
    .exactOptional(),
  fromMs: momentField.exactOptional(),
  toMs: momentField.exactOptional(),
};

export const AUDIT_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/audit', {
    access: 'owner',
    input: z.strictObject(filter),
    handle: ({ deps, organizationId, role, input }) =>
      auditPage(deps.database, { organizationId, forCustomer: role !== 'operator', ...input, limit: PAGE_ROWS }),
  }),
  route('GET /api/audit', {
    access: 'operator',
    input: z.strictObject({ ...filter, organization: idOf('org').exactOptional() }),
    handle({ deps, input: { organization, ...rest } }) {
      const about = organization === undefined ? {} : { organizationId: organization };
      return auditPage(deps.database, { ...about, forCustomer: false, ...rest, limit: PAGE_ROWS });
    },
  }),
];

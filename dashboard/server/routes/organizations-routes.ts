import { z } from 'zod';
import { idOf, text } from '#contract/fields.ts';
import type { OrganizationRow } from '#contract/operator.ts';
import {
  newOrganization,
  type OrganizationChangeInput,
  type OrganizationView,
  organizationChange,
  organizationCredit,
} from '#contract/organization.ts';
import { utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { formatUsd } from '#core/money.ts';
import { pageOf } from '#core/page-of.ts';
import { present } from '#core/present.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import { type OrganizationDetails, organizationDetails } from '#database/keys/organization-details.ts';
import type {
  CreditResult,
  OrganizationRecord,
  ReferenceElsewhere,
} from '#database/organizations/organization-records.ts';
import {
  createOrganization,
  creditOrganization,
  searchOrganizations,
  setSuspended,
  updateOrganization,
} from '#database/organizations/organization-rows.ts';
import { conflictingField, notFound, type Problem, wrongField } from '../http/problem.ts';
import { actorOf, type OrganizationCall, type Route, route } from '../http/route.ts';
import { shownAmounts, storedAmounts } from './amounts.ts';
import { organizationView } from './organization-view.ts';

const PAGE = 50;
export const ORGANIZATION_ROUTES: readonly Route[] = [
  route('GET /api/organizations', {
    access: 'operator',
    input: z.strictObject({ search: text(200).exactOptional(), after: idOf('org').exactOptional() }),
    async handle({ deps, input: { search, after } }) {
      const found = await searchOrganizations(deps.database, {
        ...present({ search, beforeId: after }),
        limit: PAGE + 1,
      });
      const { rows, ...rest } = pageOf(found, PAGE, ({ id }) => id);
      const ids = rows.map(({ id }) => id);
      const details = await organizationDetails(deps.database, ids, utcDay(deps.nowMs()));
      return { organizations: rows.map((row) => rowOf(row, details.get(row.id))), ...rest };
    },
  }),
  route('POST /api/organizations', {
    access: 'operator',
    needsFreshPassword: ({ creditNanoUsd = '0', priceList }) => BigInt(creditNanoUsd) !== 0n || priceList !== undefined,
    input: newOrganization,
    async handle(call) {
      const { deps, input } = call;
      const unknown = unknownList(call);
      if (unknown) return unknown;
      const { creditNanoUsd = 0, reference, ...settings } = input;
      const amountNanoUsd = BigInt(creditNanoUsd);
      const credit = { amountNanoUsd, note: 'Opening credit', ...present({ reference }) };
      const created = await createOrganization(
        deps.database,
        { id: newId('org', deps.nowMs()), ...DEFAULT_RULES, ...storedAmounts(settings) },
        actorOf(call),
        amountNanoUsd === 0n ? undefined : credit,
      );
      return created.kind === 'created' ? organizationView(deps, created.organization.id) : bookedElsewhere(created);
    },
  }),
  route('PATCH /api/organizations/:organization', {
    access: 'operator',
    // Lower prices are worth as much as credit.
    needsFreshPassword: ({ priceList }) => priceList !== undefined,
    input: organizationChange,
    async handle(call) {
      const { deps, organizationId, input } = call;
      const unknown = unknownList(call);
      if (unknown) return unknown;
      await updateOrganization(deps.database, organizationId, storedAmounts(input), actorOf(call));
      return organizationView(deps, organizationId);
    },
  }),
  route('GET /api/price-lists', {
    access: 'operator',
    handle: async ({ deps }) => ({ priceLists: deps.priceLists() }),
  }),
  route('POST /api/organizations/:organization/suspension', {
    access: 'operator',
    endsAccess: true,
    handle: (call) => suspend(call, true),
  }),
  route('DELETE /api/organizations/:organization/suspension', {
    access: 'operator',
    handle: (call) => suspend(call, false),
  }),
  route('POST /api/organizations/:organization/credits', {
    access: 'operator',
    needsFreshPassword: () => true,
    input: organizationCredit,
    async handle(call) {
      const { deps, organizationId, input } = call;
      const { amountNanoUsd: given, ...rest } = input;
      const amountNanoUsd = BigInt(given);
      if (amountNanoUsd === 0n) return wrongField('amountNanoUsd', 'This must not be zero.');
      const result = await creditOrganization(deps.database, organizationId, { amountNanoUsd, ...rest }, actorOf(call));
      return result.kind === 'applied' ? organizationView(deps, organizationId) : notCredited(result);
    },
  }),
];

function unknownList({
  deps,
  input: { priceList },
}: Pick<OrganizationCall, 'deps'> & { readonly input: OrganizationChangeInput }): Problem | undefined {
  if (!priceList || deps.priceLists().includes(priceList)) return undefined;
  return wrongField('priceList', 'The configuration has no such price list.');
}

async function suspend(call: OrganizationCall, suspended: boolean): Promise<OrganizationView | Problem> {
  const { deps, organizationId } = call;
  await setSuspended(deps.database, organizationId, suspended, actorOf(call));
  return organizationView(deps, organizationId);
}

/** A repeated reference changed nothing. The refusal contains the amount of the first booking. */
function notCredited(result: Exclude<CreditResult, { kind: 'applied' }>): Problem {
  switch (result.kind) {
    case 'repeated': {
      const booked = `${formatUsd(result.amountNanoUsd)} USD`;
      return conflictingField('reference', `Already booked, with ${booked}. Nothing was added.`);
    }
    case 'reference_elsewhere':
      return bookedElsewhere(result);
    case 'unknown_organization':
      return notFound('organization');
    case 'out_of_range':
      return wrongField('amountNanoUsd', 'The balance would become too large.');
  }
}

function bookedElsewhere({ organizationId }: ReferenceElsewhere): Problem {
  return conflictingField('reference', `Booked for the organization ${organizationId}. Nothing was added.`);
}

function rowOf(organization: OrganizationRecord, details: OrganizationDetails | undefined): OrganizationRow {
  const { id, name, suspendedAtMs, balanceNanoUsd, createdAtMs } = organization;
  const { spentTodayNanoUsd = 0n, usableKeys = 0 } = details ?? {};
  const sums = shownAmounts({ balanceNanoUsd, spentTodayNanoUsd });
  return { id, name, ...present({ suspendedAtMs }), ...sums, usableKeys, createdAtMs };
}

import { z } from 'zod';
import { utcDay } from '../../ext-proc/domain/clock.ts';
import { newId } from '../../ext-proc/domain/ids.ts';
import { formatUsd } from '../../ext-proc/domain/money.ts';
import { DEFAULT_CONCURRENCY } from '../../ext-proc/domain/principal.ts';
import type { CreditResult, NewOrganization, OrganizationRecord } from '../../ext-proc/stores/administration.ts';
import type { NewOrganizationInput, OrganizationChangeInput, OrganizationRow } from '../contract/operator.ts';
import type { OrganizationView } from '../contract/organization.ts';
import { type OrganizationCompanions, organizationCompanions } from '../store/organization-companions.ts';
import { actorOf } from './actor.ts';
import {
  budgetNanoUsd,
  creditNanoUsd,
  idOf,
  name,
  nothing,
  requestsPerMinute,
  text,
  tokensPerMinute,
  wholeNumber,
} from './input-fields.ts';
import { organizationView } from './organization-view.ts';
import { conflictingField, notFound, type Problem, wrongField } from './problem.ts';
import { type OrganizationCall, type Route, route } from './route.ts';

const PAGE = 50;
const MAX_NOTE = 500;
const MAX_REFERENCE = 200;

const maxTokens = wholeNumber(1, 1_000_000_000);
const concurrency = wholeNumber(1, 1_000_000);
const yesOrNo = z.boolean({ error: 'Yes or no.' });

const newOrganization: z.ZodType<NewOrganizationInput> = z.strictObject({
  name,
  requestsPerMinute: requestsPerMinute.exactOptional(),
  tokensPerMinute: tokensPerMinute.exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
  maxTokens: maxTokens.exactOptional(),
  concurrency: concurrency.exactOptional(),
  allowMultipleCompletions: yesOrNo.exactOptional(),
  creditNanoUsd: budgetNanoUsd.exactOptional(),
});

const organizationChange: z.ZodType<OrganizationChangeInput> = z.strictObject({
  name: name.exactOptional(),
  requestsPerMinute: requestsPerMinute.nullable().exactOptional(),
  tokensPerMinute: tokensPerMinute.nullable().exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.nullable().exactOptional(),
  maxTokens: maxTokens.nullable().exactOptional(),
  concurrency: concurrency.exactOptional(),
  allowMultipleCompletions: yesOrNo.exactOptional(),
});

export const ORGANIZATION_ROUTES: readonly Route[] = [
  route('GET /api/organizations', {
    access: 'operator',
    input: z.strictObject({ search: text(200).exactOptional(), after: idOf('org').exactOptional() }),
    async answer({ deps, input: { search, after } }) {
      const found = await deps.administration.searchOrganizations({
        ...(search === undefined ? {} : { search }),
        ...(after === undefined ? {} : { beforeId: after }),
        limit: PAGE + 1,
      });
      const page = found.slice(0, PAGE);
      const ids = page.map(({ id }) => id);
      const companions = await organizationCompanions(deps.database, ids, utcDay(deps.nowMs()));
      const organizations = page.map((organization) => rowOf(organization, companions.get(organization.id)));
      const last = ids.at(-1);
      return found.length > PAGE && last !== undefined ? { organizations, next: last } : { organizations };
    },
  }),
  route('POST /api/organizations', {
    access: 'operator',
    input: newOrganization,
    async answer(call) {
      const { deps, input } = call;
      const amountNanoUsd = BigInt(input.creditNanoUsd ?? 0);
      const { id } = await deps.administration.createOrganization(
        settingsOf(newId('org', deps.nowMs()), input),
        actorOf(call),
        amountNanoUsd === 0n ? undefined : { amountNanoUsd, note: 'Opening credit' },
      );
      return organizationView(deps, id);
    },
  }),
  route('PATCH /api/organizations/:organization', {
    access: 'operator',
    input: organizationChange,
    async answer(call) {
      const { deps, organizationId, input } = call;
      const { dailyBudgetNanoUsd: budget, ...rest } = input;
      const dailyBudget = budget === undefined ? {} : { dailyBudgetNanoUsd: budget === null ? null : BigInt(budget) };
      await deps.administration.updateOrganization(organizationId, { ...rest, ...dailyBudget }, actorOf(call));
      return organizationView(deps, organizationId);
    },
  }),
  route('POST /api/organizations/:organization/suspension', {
    access: 'operator',
    input: nothing,
    answer: (call) => suspend(call, true),
  }),
  route('DELETE /api/organizations/:organization/suspension', {
    access: 'operator',
    input: nothing,
    answer: (call) => suspend(call, false),
  }),
  route('POST /api/organizations/:organization/credits', {
    access: 'operator',
    input: z.strictObject({
      amountNanoUsd: creditNanoUsd,
      note: text(MAX_NOTE).exactOptional(),
      reference: text(MAX_REFERENCE).exactOptional(),
    }),
    async answer(call) {
      const { deps, organizationId, input } = call;
      const { amountNanoUsd: given, ...rest } = input;
      const amountNanoUsd = BigInt(given);
      if (amountNanoUsd === 0n) return wrongField('amountNanoUsd', 'This must not be zero.');
      const result = await deps.administration.credit(organizationId, { amountNanoUsd, ...rest }, actorOf(call));
      return result.kind === 'applied' ? organizationView(deps, organizationId) : notCredited(result);
    },
  }),
];

async function suspend(call: OrganizationCall, suspended: boolean): Promise<OrganizationView | Problem> {
  const { deps, organizationId } = call;
  await deps.administration.setSuspended(organizationId, suspended, actorOf(call));
  return organizationView(deps, organizationId);
}

/** A repeated reference changed nothing; whoever sent it twice is told what was booked the first time. */
function notCredited(result: Exclude<CreditResult, { kind: 'applied' }>): Problem {
  switch (result.kind) {
    case 'repeated': {
      const booked = `${formatUsd(result.amountNanoUsd)} USD`;
      return conflictingField('reference', `Booked before, with ${booked}. Nothing was added now.`);
    }
    case 'unknown_organization':
      return notFound('organization');
    case 'out_of_range':
      return wrongField('amountNanoUsd', 'The balance would become too large.');
  }
}

function settingsOf(id: string, input: NewOrganizationInput): NewOrganization {
  const { dailyBudgetNanoUsd: budget } = input;
  return {
    id,
    name: input.name,
    allowMultipleCompletions: input.allowMultipleCompletions ?? false,
    concurrency: input.concurrency ?? DEFAULT_CONCURRENCY,
    ...(input.maxTokens === undefined ? {} : { maxTokens: input.maxTokens }),
    limits: {
      ...(input.requestsPerMinute === undefined ? {} : { requestsPerMinute: input.requestsPerMinute }),
      ...(input.tokensPerMinute === undefined ? {} : { tokensPerMinute: input.tokensPerMinute }),
      ...(budget === undefined ? {} : { dailyBudgetNanoUsd: BigInt(budget) }),
    },
  };
}

function rowOf(organization: OrganizationRecord, companions: OrganizationCompanions | undefined): OrganizationRow {
  const { suspendedAtMs } = organization;
  const { spentTodayNanoUsd = 0n, usableKeys = 0 } = companions ?? {};
  return {
    id: organization.id,
    name: organization.name,
    ...(suspendedAtMs === undefined ? {} : { suspendedAtMs }),
    balanceNanoUsd: organization.balanceNanoUsd.toString(),
    spentTodayNanoUsd: spentTodayNanoUsd.toString(),
    usableKeys,
    createdAtMs: organization.createdAtMs,
  };
}

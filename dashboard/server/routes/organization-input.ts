import { z } from 'zod';
import type { NewOrganizationInput } from '#contract/operator.ts';
import { type OrganizationChangeInput, OWN_SETTINGS, type OwnSettings } from '#contract/organization.ts';
import type { Change } from '#contract/setting.ts';
import { MAX_CONCURRENCY } from '#core/field-bounds.ts';
import { present } from '#core/present.ts';
import { DEFAULT_CONCURRENCY } from '#core/principal.ts';
import type { NewOrganization, OrganizationChange } from '#database/organizations/organization-records.ts';
import {
  budgetNanoUsd,
  creditNanoUsd,
  email,
  name,
  note,
  priceListName,
  requestsPerMinute,
  text,
  tokensPerMinute,
  wholeNumber,
} from './input-fields.ts';
import { storedLimits } from './limits.ts';

const MAX_REFERENCE = 200;

const maxTokens = wholeNumber(1, 1_000_000_000);
const concurrency = wholeNumber(1, MAX_CONCURRENCY);
const yesOrNo = z.boolean({ error: 'Yes or no.' });

export const newOrganization: z.ZodType<NewOrganizationInput> = z.strictObject({
  name,
  requestsPerMinute: requestsPerMinute.exactOptional(),
  tokensPerMinute: tokensPerMinute.exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
  maxTokens: maxTokens.exactOptional(),
  concurrency: concurrency.exactOptional(),
  allowMultipleCompletions: yesOrNo.exactOptional(),
  creditNanoUsd: budgetNanoUsd.exactOptional(),
  reference: text(MAX_REFERENCE).exactOptional(),
  priceList: priceListName.exactOptional(),
});

export const organizationChange: z.ZodType<OrganizationChangeInput> = z.strictObject({
  name: name.exactOptional(),
  requestsPerMinute: requestsPerMinute.nullable().exactOptional(),
  tokensPerMinute: tokensPerMinute.nullable().exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.nullable().exactOptional(),
  maxTokens: maxTokens.nullable().exactOptional(),
  concurrency: concurrency.exactOptional(),
  allowMultipleCompletions: yesOrNo.exactOptional(),
  priceList: priceListName.nullable().exactOptional(),
});

const billingText = (field: Exclude<keyof OwnSettings, 'name'>) => text(Number(OWN_SETTINGS[field].max));

/** Owners send it: no limit, price or balance may ever be in it. */
export const ownChange: z.ZodType<Change<OwnSettings>> = z.strictObject({
  name: name.exactOptional(),
  legalName: billingText('legalName').nullable().exactOptional(),
  billingAddress: billingText('billingAddress').nullable().exactOptional(),
  taxId: billingText('taxId').nullable().exactOptional(),
  billingEmail: email.nullable().exactOptional(),
});

export const organizationCredit = z.strictObject({
  amountNanoUsd: creditNanoUsd,
  note: note.exactOptional(),
  reference: text(MAX_REFERENCE).exactOptional(),
});

export function storedSettings(id: string, input: NewOrganizationInput): NewOrganization {
  const { maxTokens, priceList } = input;
  return {
    id,
    name: input.name,
    allowMultipleCompletions: input.allowMultipleCompletions ?? false,
    concurrency: input.concurrency ?? DEFAULT_CONCURRENCY,
    ...present({ maxTokens, priceList }),
    limits: storedLimits(input),
  };
}

export function storedChange({ dailyBudgetNanoUsd, ...rest }: OrganizationChangeInput): OrganizationChange {
  if (dailyBudgetNanoUsd === undefined) return rest;
  return { ...rest, dailyBudgetNanoUsd: dailyBudgetNanoUsd === null ? null : BigInt(dailyBudgetNanoUsd) };
}

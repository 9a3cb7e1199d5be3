import type { NewOrganizationInput, OrganizationChangeInput } from '#contract/organization.ts';
import { present } from '#core/present.ts';
import { DEFAULT_CONCURRENCY } from '#core/principal.ts';
import type { NewOrganization, OrganizationChange } from '#database/organizations/organization-records.ts';
import { storedLimits } from './limits.ts';

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

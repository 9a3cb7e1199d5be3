import type { NewOrganizationInput, OrganizationChangeInput } from '../../contract/operator.ts';
import type { OrganizationView } from '../../contract/organization.ts';

/** What stands in the form. Absent: the box is empty. */
export interface OrganizationDraft {
  readonly name: string;
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly dailyBudgetNanoUsd: string | undefined;
  readonly maxTokens: number | undefined;
  readonly concurrency: number | undefined;
  readonly allowMultipleCompletions: boolean;
  /** Of a new one only. */
  readonly creditNanoUsd: string | undefined;
}

export const NEW_ORGANIZATION: OrganizationDraft = {
  name: '',
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  dailyBudgetNanoUsd: undefined,
  maxTokens: undefined,
  concurrency: undefined,
  allowMultipleCompletions: false,
  creditNanoUsd: undefined,
};

export function draftOf({ name, limits }: Pick<OrganizationView, 'name' | 'limits'>): OrganizationDraft {
  return { ...NEW_ORGANIZATION, name, ...limits };
}

/** `reference`: of the opening credit. */
export function newOrganization(draft: OrganizationDraft, reference: string): NewOrganizationInput {
  const { name, allowMultipleCompletions, ...boxes } = draft;
  const filled = Object.entries(boxes).filter(([, value]) => value !== undefined);
  const isCredited = draft.creditNanoUsd !== undefined;
  return {
    name: name.trim(),
    allowMultipleCompletions,
    ...Object.fromEntries(filled),
    ...(isCredited && { reference }),
  };
}

const REMOVABLE = ['requestsPerMinute', 'tokensPerMinute', 'dailyBudgetNanoUsd', 'maxTokens'] as const;

/** Only what is different: what somebody else changed meanwhile is not set back. An emptied box lifts the limit. */
export function organizationChange(before: OrganizationDraft, after: OrganizationDraft): OrganizationChangeInput {
  const name = after.name.trim();
  const limits = REMOVABLE.filter((limit) => after[limit] !== before[limit]).map((limit) => [
    limit,
    after[limit] ?? null,
  ]);
  return {
    ...(name !== before.name && { name }),
    ...Object.fromEntries(limits),
    ...(after.concurrency !== undefined &&
      after.concurrency !== before.concurrency && { concurrency: after.concurrency }),
    ...(after.allowMultipleCompletions !== before.allowMultipleCompletions && {
      allowMultipleCompletions: after.allowMultipleCompletions,
    }),
  };
}

import type { NewOrganizationInput, OrganizationChangeInput } from '../../contract/operator.ts';
import type { OrganizationView } from '../../contract/organization.ts';
import { formatMoneyInFull } from '../format/format-money.ts';

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

export interface CreditDraft {
  readonly amountNanoUsd: string;
  readonly note: string;
  readonly reference: string;
}

/**
 * Each dialog begins with one: when an answer is lost, the same dialog may be sent again and is booked once. Made without randomUUID(), which
 * browsers have on secure pages only.
 */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `crd-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Empty boxes are left out: the server takes no empty text. */
export function creditBody({ amountNanoUsd, note, reference }: CreditDraft) {
  return {
    amountNanoUsd,
    ...(note.trim() !== '' && { note: note.trim() }),
    ...(reference.trim() !== '' && { reference: reference.trim() }),
  };
}

export function balanceAfter(balanceNanoUsd: string, amountNanoUsd: string): string {
  return (BigInt(balanceNanoUsd) + BigInt(amountNanoUsd)).toString();
}

/** Says what will be booked, so that a wrong sign or zero too many is seen before. */
export function creditButton(amountNanoUsd: string | undefined): string {
  if (amountNanoUsd === undefined) return 'Add credit';
  return amountNanoUsd.startsWith('-')
    ? `Take ${formatMoneyInFull(amountNanoUsd.slice(1))} back`
    : `Add ${formatMoneyInFull(amountNanoUsd)}`;
}

import type { NewOrganizationInput, OrganizationChangeInput } from '#contract/operator.ts';
import type { OrganizationView } from '#contract/organization.ts';
import { formatMoneyInFull } from '../format/format-money.ts';

/** Values of the form. Absent for an empty box. */
export interface OrganizationDraft {
  readonly name: string;
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly dailyBudgetNanoUsd: string | undefined;
  readonly maxTokens: number | undefined;
  readonly concurrency: number | undefined;
  readonly allowMultipleCompletions: boolean;
  readonly priceList: string | undefined;
  /** Only for a new organization. */
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
  priceList: undefined,
  creditNanoUsd: undefined,
};

export function draftOf({
  name,
  limits,
  priceList,
}: Pick<OrganizationView, 'name' | 'limits' | 'priceList'>): OrganizationDraft {
  return { ...NEW_ORGANIZATION, name, ...limits, priceList };
}

/** `reference` is that of the opening credit. */
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

const REMOVABLE = ['requestsPerMinute', 'tokensPerMinute', 'dailyBudgetNanoUsd', 'maxTokens', 'priceList'] as const;

/**
 * Only the changed fields, so that concurrent changes are kept. An emptied box removes the limit.
 */
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
 * One reference for each dialog: if a response is lost, the dialog can be sent again and is booked
 * once. randomUUID() exists on secure pages only.
 */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `crd-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Leaves out empty boxes, which the server would refuse. */
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

/** Says what will be booked, so that a wrong sign or digit is noticed. */
export function creditButton(amountNanoUsd: string | undefined): string {
  if (amountNanoUsd === undefined) return 'Add credit';
  return amountNanoUsd.startsWith('-')
    ? `Take ${formatMoneyInFull(amountNanoUsd.slice(1))} back`
    : `Add ${formatMoneyInFull(amountNanoUsd)}`;
}

import type { NewOrganizationInput, OrganizationSettings, OrganizationView } from '#contract/organization.ts';
import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { present } from '#core/present.ts';
import { formatMoneyInFull } from '../format/format.ts';
import { type Draft, draftOf, valuesOf } from '../forms/draft.ts';

/** Values of the form. Only new organizations have an opening credit. */
export type OrganizationDraft = Draft<OrganizationSettings> & { readonly creditNanoUsd: string | undefined };

export const NEW_ORGANIZATION: OrganizationDraft = {
  ...draftOf(ORGANIZATION_SETTINGS, { name: '', allowMultipleCompletions: false }),
  creditNanoUsd: undefined,
};

/** `reference` is the reference of the opening credit. */
export function newOrganization(draft: OrganizationDraft, reference: string): NewOrganizationInput {
  const { creditNanoUsd } = draft;
  const credit = creditNanoUsd === undefined ? {} : { creditNanoUsd, reference };
  return { ...valuesOf(ORGANIZATION_SETTINGS, draft), ...credit };
}

export function settingsOf({
  name,
  limits,
  priceList,
}: Pick<OrganizationView, 'name' | 'limits' | 'priceList'>): OrganizationSettings {
  return { name, ...limits, ...present({ priceList }) };
}

/** Values of a credit. Absent: nothing has been entered yet. */
export interface CreditDraft {
  readonly amountNanoUsd: string | undefined;
  readonly note: string;
  readonly reference: string;
}

/**
 * One reference for each dialog: if a response is lost, the dialog can be sent again, and the
 * credit is booked once. randomUUID() only exists on secure pages.
 */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `crd-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Leaves out empty boxes, which the server would refuse. `undefined` without an amount. */
export function creditBody({ amountNanoUsd, note, reference }: CreditDraft) {
  if (amountNanoUsd === undefined) return undefined;
  return { amountNanoUsd, ...present({ note: note.trim() || undefined, reference: reference.trim() || undefined }) };
}

export function balanceAfter(balanceNanoUsd: string, amountNanoUsd: string): string {
  return (BigInt(balanceNanoUsd) + BigInt(amountNanoUsd)).toString();
}

/** States the amount to be booked, so that a wrong sign or digit is noticed. */
export function creditButton(amountNanoUsd: string | undefined): string {
  if (amountNanoUsd === undefined) return 'Add credit';
  return amountNanoUsd.startsWith('-')
    ? `Take ${formatMoneyInFull(amountNanoUsd.slice(1))} back`
    : `Add ${formatMoneyInFull(amountNanoUsd)}`;
}

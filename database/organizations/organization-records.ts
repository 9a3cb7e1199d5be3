import type { Change } from '#contract/setting.ts';
import type { NanoUsd } from '#core/money.ts';
import type { OrganizationRules, RateLimits } from '#core/principal.ts';

/** Data for invoices. Owners set it. */
export interface BillingData {
  readonly legalName?: string;
  readonly billingAddress?: string;
  readonly taxId?: string;
  readonly billingEmail?: string;
}

export interface OrganizationSettings extends OrganizationRules, RateLimits, BillingData {
  readonly name: string;
}

export interface NewOrganization extends OrganizationSettings {
  readonly id: string;
}

export type OrganizationChange = Change<OrganizationSettings>;

export interface OrganizationQuery {
  /** Part of the name, ignoring case, or the whole id. Absent: all organizations. */
  readonly search?: string;
  /** Last id of the previous page. Only older organizations are returned. */
  readonly beforeId?: string;
  readonly limit: number;
}

export interface OrganizationRecord extends OrganizationSettings {
  readonly id: string;
  readonly suspendedAtMs?: number;
  readonly balanceNanoUsd: NanoUsd;
  readonly createdAtMs: number;
}

export interface CreditEntry {
  /** Not zero. A negative amount is a correction. */
  readonly amountNanoUsd: NanoUsd;
  readonly note?: string;
  /** A reference is applied once over all organizations. */
  readonly reference?: string;
}

/** The reference was used for another organization, and nothing was added. */
export interface ReferenceElsewhere {
  readonly kind: 'reference_elsewhere';
  readonly organizationId: string;
}

export type CreateOrganizationResult =
  | { readonly kind: 'created'; readonly organization: OrganizationRecord }
  | ReferenceElsewhere;

export type CreditResult =
  | { readonly kind: 'applied'; readonly balanceNanoUsd: NanoUsd }
  /** The reference was used before, for `amountNanoUsd`. Nothing was added now. */
  | { readonly kind: 'repeated'; readonly amountNanoUsd: NanoUsd; readonly balanceNanoUsd: NanoUsd }
  | ReferenceElsewhere
  | { readonly kind: 'unknown_organization' }
  /** The balance would exceed the range of amounts. */
  | { readonly kind: 'out_of_range' };

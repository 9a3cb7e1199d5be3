import type { NanoUsd } from '#core/money.ts';
import type { RateLimits } from '#core/principal.ts';

/** For invoices. Owners set it. */
export interface BillingData {
  readonly legalName?: string;
  readonly billingAddress?: string;
  readonly taxId?: string;
  readonly billingEmail?: string;
}

export interface OrganizationSettings extends BillingData {
  readonly name: string;
  readonly allowMultipleCompletions: boolean;
  readonly concurrency: number;
  /** Absent: no cap of the organization's own. */
  readonly maxTokens?: number;
  /** Name of its price list. Absent: it pays the models' own prices. */
  readonly priceList?: string;
  readonly limits: RateLimits;
}

export interface NewOrganization extends OrganizationSettings {
  readonly id: string;
}

/** `null`: none. */
type BillingChange = { readonly [Name in keyof BillingData]: string | null };

/** Changed settings. Absent: unchanged. `null`: no longer limited. */
export interface OrganizationChange extends BillingChange {
  readonly name?: string;
  readonly allowMultipleCompletions?: boolean;
  readonly concurrency?: number;
  readonly maxTokens?: number | null;
  /** `null`: none. */
  readonly priceList?: string | null;
  readonly requestsPerMinute?: number | null;
  readonly tokensPerMinute?: number | null;
  readonly dailyBudgetNanoUsd?: NanoUsd | null;
}

export interface OrganizationQuery {
  /** Part of the name, in any case, or the whole id. Absent: all. */
  readonly search?: string;
  /** Only organizations older than this one: the last of the page before. */
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
  /** Not zero; negative amounts correct. */
  readonly amountNanoUsd: NanoUsd;
  readonly note?: string;
  /** Applied once, whatever organization it is for. */
  readonly reference?: string;
}

/** The reference was used for another organization; nothing was added. */
export interface ReferenceElsewhere {
  readonly kind: 'reference_elsewhere';
  readonly organizationId: string;
}

export type CreateOrganizationResult =
  | { readonly kind: 'created'; readonly organization: OrganizationRecord }
  | ReferenceElsewhere;

export type CreditResult =
  | { readonly kind: 'applied'; readonly balanceNanoUsd: NanoUsd }
  /** The reference was used before, for `amountNanoUsd`; nothing was added now. */
  | { readonly kind: 'repeated'; readonly amountNanoUsd: NanoUsd; readonly balanceNanoUsd: NanoUsd }
  | ReferenceElsewhere
  | { readonly kind: 'unknown_organization' }
  /** The balance would leave the range of amounts. */
  | { readonly kind: 'out_of_range' };

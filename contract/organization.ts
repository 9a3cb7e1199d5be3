import { z } from 'zod';
import {
  MAX_BILLING_ADDRESS,
  MAX_CONCURRENCY,
  MAX_COUNT,
  MAX_LEGAL_NAME,
  MAX_REFERENCE,
  MAX_TAX_ID,
} from '#core/field-bounds.ts';
import {
  budgetNanoUsd,
  changeOf,
  creditNanoUsd,
  type Empty,
  email,
  name,
  note,
  priceListName,
  requestsPerMinute,
  text,
  tokensPerMinute,
  wholeNumber,
  yesOrNo,
} from './fields.ts';

/** An absent limit does not apply. */
export type OrganizationLimits = Readonly<z.infer<typeof organizationLimits>>;
const organizationLimits = z.strictObject({
  requestsPerMinute: requestsPerMinute.exactOptional(),
  tokensPerMinute: tokensPerMinute.exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
  maxTokens: wholeNumber(1, MAX_COUNT).exactOptional(),
  concurrency: wholeNumber(1, MAX_CONCURRENCY),
  allowMultipleCompletions: yesOrNo,
});

/** Settings of an organization that operators set. */
export type OrganizationSettings = Readonly<z.infer<typeof organizationSettings>>;
const organizationSettings = organizationLimits.extend({ name, priceList: priceListName.exactOptional() });

export type OrganizationChangeInput = z.infer<typeof organizationChange>;
export const organizationChange = changeOf(organizationSettings);

export type NewOrganizationInput = Readonly<z.infer<typeof newOrganization>>;
export const newOrganization = organizationSettings.extend({
  concurrency: organizationLimits.shape.concurrency.exactOptional(),
  allowMultipleCompletions: yesOrNo.exactOptional(),
  creditNanoUsd: budgetNanoUsd.exactOptional(),
  /** Reference of the opening credit in the ledger. */
  reference: text(MAX_REFERENCE).exactOptional(),
});

/** Settings that owners change themselves. They may never include a limit, a price or a balance. */
export type OwnSettings = Readonly<z.infer<typeof ownSettings>>;
const ownSettings = z.strictObject({
  name,
  legalName: text(MAX_LEGAL_NAME).exactOptional(),
  billingAddress: text(MAX_BILLING_ADDRESS).exactOptional(),
  taxId: text(MAX_TAX_ID).exactOptional(),
  billingEmail: email.exactOptional(),
});

export const ownChange = changeOf(ownSettings);

export const organizationCredit = z.strictObject({
  amountNanoUsd: creditNanoUsd,
  note: note.exactOptional(),
  reference: text(MAX_REFERENCE).exactOptional(),
});

export interface OrganizationView {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly suspendedAtMs?: number;
  readonly balanceNanoUsd: string;
  /** The sum of all holds, from the gateway processes' reports of some seconds ago. */
  readonly heldNanoUsd: string;
  readonly totalCreditsNanoUsd: string;
  readonly totalUsageNanoUsd: string;
  readonly spentTodayNanoUsd: string;
  readonly limits: OrganizationLimits;
  /** Absent if a forecast would be meaningless. */
  readonly forecast?: BalanceForecast;
  /** Absent: the models' own prices apply. */
  readonly priceList?: string;
}

/** When the balance ends if spending goes on at the mean rate of the last 7 days. */
export interface BalanceForecast {
  readonly averageDayNanoUsd: string;
  readonly endsAtMs: number;
}

export interface OrganizationApi {
  'GET /api/organizations/:organization/settings': { query: Empty; response: OwnSettings };
  'PATCH /api/organizations/:organization/settings': { body: z.infer<typeof ownChange>; response: OwnSettings };
  'GET /api/organizations/:organization': { query: Empty; response: OrganizationView };
}

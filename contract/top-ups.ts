import { z } from 'zod';
import { MAX_DAILY_TOP_UPS_USD, MAX_TOP_UP_USD } from '#core/field-bounds.ts';
import { type Empty, wholeNumber } from './fields.ts';

/** The configuration sets narrower bounds. */
export const topUp = z.strictObject({ amountUsd: wholeNumber(1, MAX_TOP_UP_USD) });

export type AutomaticTopUpView = Readonly<z.infer<typeof automaticTopUp>>;
const automaticTopUp = topUp.extend({
  /** A payment begins when the balance is below this. */
  belowUsd: wholeNumber(1, MAX_TOP_UP_USD),
  /** The largest sum of automatic top-ups in one UTC day. */
  dailyUsd: wholeNumber(1, MAX_DAILY_TOP_UPS_USD),
});
/** Absent settings turn automatic top-up off. */
export const automaticTopUpChange = z.strictObject({ settings: automaticTopUp.exactOptional() });

/** Amounts that an owner may pay, in whole USD. */
export interface TopUpOffer {
  readonly presetsUsd: readonly number[];
  readonly leastUsd: number;
  readonly mostUsd: number;
}

export interface TopUpView {
  readonly id: string;
  readonly automatic: boolean;
  readonly amountNanoUsd: string;
  /** `refused`: the payment does not match what Stripe has. An operator has to look at it. */
  readonly state: 'open' | 'paid' | 'failed' | 'expired' | 'refused';
  /** Reason of the failure or refusal, or why it is open for days. */
  readonly failure?: string;
  /** Amount that refunds and disputes returned. */
  readonly returnedNanoUsd: string;
  readonly receiptUrl?: string;
  /** True if Stripe makes an invoice for the payment. */
  readonly hasInvoice?: true;
  /** Email address, or `the operator`. Absent for an automatic top-up. */
  readonly createdBy?: string;
  readonly createdAtMs: number;
}

export interface TopUpsView {
  /** Absent: payments are not configured. */
  readonly offer?: TopUpOffer;
  /** Brand and last digits, such as `visa 4242`. */
  readonly card?: string;
  readonly automatic?: AutomaticTopUpView;
  /** Present if the last automatic top-up failed. No other begins until settings are saved. */
  readonly stopped?: { readonly atMs: number; readonly reason: string };
  /** Newest first. */
  readonly topUps: readonly TopUpView[];
  /** Value of `before` for the next, older page. */
  readonly next?: string;
}

export interface TopUpsApi {
  'GET /api/organizations/:organization/top-ups': { query: { before?: string }; response: TopUpsView };
  /** `url` is Stripe's payment page. */
  'POST /api/organizations/:organization/top-ups': {
    body: z.infer<typeof topUp>;
    response: { id: string; url: string };
  };
  /** Reads an open payment from Stripe at once, for a user who returns from paying. */
  'POST /api/organizations/:organization/top-ups/:topUp/check': { body: Empty; response: Empty };
  /** Stripe's page for the invoice. Its URL is not stored. */
  'POST /api/organizations/:organization/top-ups/:topUp/invoice': { body: Empty; response: { url: string } };
  'POST /api/organizations/:organization/card': { body: Empty; response: { url: string } };
  /** Removes the card, and turns automatic top-up off. */
  'DELETE /api/organizations/:organization/card': { body: Empty; response: Empty };
  'PUT /api/organizations/:organization/automatic-top-up': {
    body: z.infer<typeof automaticTopUpChange>;
    response: Empty;
  };
}

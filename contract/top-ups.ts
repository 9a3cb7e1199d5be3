import { z } from 'zod';
import { MAX_DAILY_TOP_UPS_USD, MAX_TOP_UP_USD } from '#core/field-bounds.ts';
import { type Empty, wholeNumber } from './fields.ts';

/** The bounds of the configuration are narrower. */
export const topUp = z.strictObject({ amountUsd: wholeNumber(1, MAX_TOP_UP_USD) });

export type AutomaticTopUpView = Readonly<z.infer<typeof automaticTopUp>>;
const automaticTopUp = topUp.extend({
  /** Balance below which a payment begins. */
  belowUsd: wholeNumber(1, MAX_TOP_UP_USD),
  /** Most for one UTC day. */
  dailyUsd: wholeNumber(1, MAX_DAILY_TOP_UPS_USD),
});
/** Absent settings end it. */
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
  /** `refused`: it does not match what Stripe has; the operator has to look. */
  readonly state: 'open' | 'paid' | 'failed' | 'expired' | 'refused';
  readonly failure?: string;
  /** Given back by refunds and disputes. */
  readonly returnedNanoUsd: string;
  readonly receiptUrl?: string;
  /** Stripe makes one of such a payment. */
  readonly hasInvoice?: true;
  /** Absent for an automatic one. */
  readonly createdBy?: string;
  readonly createdAtMs: number;
}

export interface TopUpsView {
  /** Absent: payments are not configured. */
  readonly offer?: TopUpOffer;
  /** Such as `visa 4242`. */
  readonly card?: string;
  readonly automatic?: AutomaticTopUpView;
  /** The last automatic top-up failed; nothing is tried until an owner saves the settings again. */
  readonly stopped?: { readonly atMs: number; readonly reason: string };
  /** Newest first. */
  readonly topUps: readonly TopUpView[];
  /** To be given as `before` for older ones. */
  readonly next?: string;
}

export interface TopUpsApi {
  'GET /api/organizations/:organization/top-ups': { query: { before?: string }; response: TopUpsView };
  /** `url` is the page at which Stripe takes the payment. */
  'POST /api/organizations/:organization/top-ups': {
    body: z.infer<typeof topUp>;
    response: { id: string; url: string };
  };
  /** Reads an open payment from Stripe now, for somebody who is back from paying. */
  'POST /api/organizations/:organization/top-ups/:topUp/check': { body: Empty; response: Empty };
  /** The page of its invoice at Stripe, whose address is not kept. */
  'POST /api/organizations/:organization/top-ups/:topUp/invoice': { body: Empty; response: { url: string } };
  'POST /api/organizations/:organization/card': { body: Empty; response: { url: string } };
  /** Ends automatic top-up, too. */
  'DELETE /api/organizations/:organization/card': { body: Empty; response: Empty };
  'PUT /api/organizations/:organization/automatic-top-up': {
    body: z.infer<typeof automaticTopUpChange>;
    response: Empty;
  };
}

import type { Empty } from './empty.ts';

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
  /** Why it failed or was refused. */
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

export interface AutomaticTopUpView {
  /** Balance below which a payment begins. */
  readonly belowUsd: number;
  readonly amountUsd: number;
  /** Most for one UTC day. */
  readonly dailyUsd: number;
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
    body: { amountUsd: number };
    response: { id: string; url: string };
  };
  /** Reads an open payment from Stripe now, for somebody who is back from paying. */
  'POST /api/organizations/:organization/top-ups/:topUp/check': { body: Empty; response: Empty };
  /** The page of its invoice at Stripe, whose address is not kept. */
  'POST /api/organizations/:organization/top-ups/:topUp/invoice': { body: Empty; response: { url: string } };
  'POST /api/organizations/:organization/card': { body: Empty; response: { url: string } };
  /** Ends automatic top-up, too. */
  'DELETE /api/organizations/:organization/card': { body: Empty; response: Empty };
  /** Absent settings end it. */
  'PUT /api/organizations/:organization/automatic-top-up': {
    body: { settings?: AutomaticTopUpView };
    response: Empty;
  };
}

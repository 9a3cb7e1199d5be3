import { z } from 'zod';
import type { PriceField, TokenKind } from '#core/price-kinds.ts';
import { type Empty, momentField, wholeNumberField } from './fields.ts';

export const ledgerFilter = z.strictObject({
  kind: z.enum(['credit', 'charge'], { error: 'credit or charge.' }).exactOptional(),
  fromMs: momentField.exactOptional(),
  /** Exclusive. */
  toMs: momentField.exactOptional(),
});
export const ledgerPageInput = ledgerFilter.extend({
  before: wholeNumberField(1, Number.MAX_SAFE_INTEGER).exactOptional(),
});

export interface LedgerEntryView {
  readonly sequence: number;
  readonly atMs: number;
  readonly kind: 'credit' | 'charge';
  readonly amountNanoUsd: string;
  /** The balance after this entry. */
  readonly balanceNanoUsd: string;
  readonly generationId?: string;
  readonly model?: string;
  readonly keyId?: string;
  readonly keyName?: string;
  readonly note?: string;
  readonly reference?: string;
  readonly actor?: string;
}

export type TokensView = Readonly<Record<TokenKind, number>>;

/** Pico-dollars per token, which equal micro-dollars per million tokens. */
export type PricesView = Readonly<Record<PriceField, string>>;

/** Prices of a service tier. Those of `above` are for prompts with more tokens, ascending. */
export interface TierPricesView {
  readonly prices: PricesView;
  readonly above: readonly { readonly inputTokens: number; readonly prices: PricesView }[];
}

export interface PriceTableView extends TierPricesView {
  readonly serviceTiers: Readonly<Record<string, TierPricesView>>;
}

/** Other prices by time, as `GET /v1/models` shows them. */
export interface PricesInTimeView {
  /** Tables of the next 90 days, ascending. */
  readonly priceChanges: readonly {
    readonly fromMs: number;
    readonly priceTable: PriceTableView;
    readonly priceWindows: readonly PriceWindowView[];
  }[];
  /** Windows of the table in force. */
  readonly priceWindows: readonly PriceWindowView[];
}

/** Hours in which other prices hold. */
export interface PriceWindowView {
  /** `16:30-00:30` */
  readonly utc: string;
  /** `mon`, in the order of a week. */
  readonly days: readonly string[];
  readonly except: readonly string[];
  readonly priceTable: PriceTableView;
}

export interface ModelView extends PricesInTimeView {
  readonly id: string;
  readonly capabilities: readonly string[];
  readonly reasoningEfforts: readonly string[];
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly defaultOutputTokens: number;
  /** False: every target drops it. */
  readonly takesTemperature: boolean;
  readonly priceTable: PriceTableView;
  readonly state: 'available' | 'disabled' | 'misconfigured';
}

export interface MoneyApi {
  'GET /api/organizations/:organization/ledger': {
    query: z.infer<typeof ledgerPageInput>;
    /** Newest first; `next` is the `before` of the older page. */
    response: { entries: readonly LedgerEntryView[]; next?: number };
  };
  /** Empty while no gateway process has reported yet. */
  'GET /api/organizations/:organization/models': { query: Empty; response: { models: readonly ModelView[] } };
}

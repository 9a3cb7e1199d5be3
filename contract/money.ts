import { z } from 'zod';
import type { TokenKind } from '#core/price-kinds.ts';
import type { TableJson } from '#core/price-table-text.ts';
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

/** Scheduled prices, as in `GET /v1/models`. */
export interface PricesInTimeView {
  /** Price tables that begin within the next 90 days, in order of time. */
  readonly priceChanges: readonly {
    readonly fromMs: number;
    readonly priceTable: TableJson;
    readonly priceWindows: readonly PriceWindowView[];
  }[];
  /** Windows of the current table. */
  readonly priceWindows: readonly PriceWindowView[];
}

/** Hours with other prices. */
export interface PriceWindowView {
  /** For example `16:30-00:30`. */
  readonly utc: string;
  /** For example `mon`, in the order of the week. */
  readonly days: readonly string[];
  readonly except: readonly string[];
  readonly priceTable: TableJson;
}

/** Facts about a model that both customers and operators see. */
export interface ModelFacts extends PricesInTimeView {
  readonly id: string;
  readonly capabilities: readonly string[];
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly priceTable: TableJson;
}

export interface ModelView extends ModelFacts {
  readonly reasoningEfforts: readonly string[];
  readonly defaultOutputTokens: number;
  /** False: every target drops the parameter. */
  readonly takesTemperature: boolean;
  readonly state: 'available' | 'disabled' | 'misconfigured';
}

export interface MoneyApi {
  'GET /api/organizations/:organization/ledger': {
    query: z.infer<typeof ledgerPageInput>;
    /** Newest first. `next` is the `before` for the next, older page. */
    response: { entries: readonly LedgerEntryView[]; next?: number };
  };
  /** Empty until a gateway process has sent a report. */
  'GET /api/organizations/:organization/models': { query: Empty; response: { models: readonly ModelView[] } };
}

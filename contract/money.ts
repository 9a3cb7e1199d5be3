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

/** Other prices by time, as `GET /v1/models` shows them. */
export interface PricesInTimeView {
  /** Tables of the next 90 days, ascending. */
  readonly priceChanges: readonly {
    readonly fromMs: number;
    readonly priceTable: TableJson;
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
  readonly priceTable: TableJson;
}

/** What customers and operators see of a model. */
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
  /** False: every target drops it. */
  readonly takesTemperature: boolean;
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

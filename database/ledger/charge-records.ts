import { utcDayText } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { PRICE_KINDS, TOKEN_KINDS } from '#core/price-kinds.ts';
import { type FieldValue, type RecordColumns, recordWriter } from '../connection/record-text.ts';
import type { Settlement } from './ledger.ts';

/** Cleans and cuts a provider's text: PostgreSQL refuses NUL, which must not prevent a charge. */
function text(value: string | undefined, maxLength: number): string | undefined {
  return value?.replaceAll('\0', '').slice(0, maxLength);
}

/** Rounds and clamps a measurement, so that a wrong clock cannot prevent a charge. */
function wholeMs(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0;
}

const MAX_TIER_LENGTH = 64;

/** Columns of the record type `charge` (database/schema/tables.sql), in its order. */
export const CHARGE_COLUMNS: RecordColumns<Omit<Settlement, keyof ChargeExtras>> = {
  generationId: ['id', (s) => s.generationId],
  organizationId: ['organization_id', (s) => s.organizationId],
  keyId: ['key_id', (s) => s.keyId],
  day: ['day', (s) => utcDayText(s.day)],
  model: ['model', (s) => text(s.model, 500)],
  provider: ['provider', (s) => text(s.provider, 500)],
  upstreamId: ['upstream_id', (s) => text(s.upstreamId, 200)],
  createdAtMs: ['created_ms', (s) => wholeMs(s.createdAtMs)],
  streamed: ['streamed', (s) => s.streamed],
  cancelled: ['cancelled', (s) => s.cancelled],
  finishReason: ['finish_reason', (s) => text(s.finishReason, 100)],
  ...columnsOf('usage', TOKEN_KINDS),
  usageCounted: ['usage_counted', (s) => s.usageCounted],
  ...columnsOf('prices', PRICE_KINDS),
  costNanoUsd: ['cost_nano_usd', (s) => s.costNanoUsd],
  firstEventMs: ['first_event_ms', (s) => wholeMs(s.firstEventMs)],
  generationTimeMs: ['generation_time_ms', (s) => wholeMs(s.generationTimeMs)],
  holdNanoUsd: ['hold_nano_usd', (s) => s.holdNanoUsd],
  providerModel: ['provider_model', (s) => text(s.providerModel, 500)],
  serviceTier: ['service_tier', (s) => text(s.serviceTier, MAX_TIER_LENGTH)],
  pricedTier: ['priced_tier', (s) => text(s.pricedTier, MAX_TIER_LENGTH)],
  pricedAboveTokens: ['priced_above_tokens', (s) => s.pricedAboveTokens],
  api: ['api', (s) => s.api],
};

type Column = readonly [column: string, read: (settlement: Settlement) => FieldValue];

function columnsOf<Part extends 'usage' | 'prices', Kind extends keyof Settlement[Part] & string>(
  part: Part,
  kinds: Readonly<Record<Kind, { readonly column: string }>>,
): Readonly<Record<`${Part}.${Kind}`, Column>> {
  const columns = Object.entries<{ readonly column: string }>(kinds).map(([kind, { column }]) => {
    const read = (settlement: Settlement) => settlement[part][kind as Kind] as FieldValue;
    return [`${part}.${kind}`, [column, read]] as const;
  });
  return Object.fromEntries(columns) as Record<`${Part}.${Kind}`, Column>;
}

/** Encodes settlements as `charge[]`. */
export const chargeRecords = recordWriter(CHARGE_COLUMNS);

/**
 * Facts that few charges have. They are sent as arrays in the order of the records, or booked as a
 * loss (settlement-writer.ts).
 */
type ChargeExtras = Pick<Settlement, 'user' | 'providerCostNanoUsd' | 'listNanoUsd' | 'tierLossNanoUsd'>;

/** Largest amount that the database accepts. */
const MAX_NANO_USD = 10n ** 18n;

/** The amount within the bounds of its column, so that it cannot prevent a row. */
export function storable(amountNanoUsd: NanoUsd): NanoUsd {
  if (amountNanoUsd < 0n) return 0n;
  return amountNanoUsd > MAX_NANO_USD ? MAX_NANO_USD : amountNanoUsd;
}

/**
 * Returns users, provider costs and list prices of charges. NUL, which PostgreSQL cannot store, is
 * replaced, and amounts are clamped, so that neither can prevent a charge.
 */
export function extrasOf(batch: readonly Settlement[]): readonly [users: Extras, costs: Extras, listPrices: Extras] {
  const amountText = (amount: NanoUsd | undefined) => (amount === undefined ? undefined : String(storable(amount)));
  const users = extras(batch, ({ user }) => user?.replaceAll('\0', '\ufffd'));
  const costs = extras(batch, ({ providerCostNanoUsd }) => amountText(providerCostNanoUsd));
  const listPrices = extras(batch, ({ listNanoUsd }) => amountText(listNanoUsd));
  return [users, costs, listPrices];
}

/** One element for each charge. Null: no charge has a value. */
type Extras = readonly (string | null)[] | null;

function extras(batch: readonly Settlement[], extraOf: (settlement: Settlement) => string | undefined): Extras {
  const found = batch.map((settlement) => extraOf(settlement) ?? null);
  return found.every((extra) => extra === null) ? null : found;
}

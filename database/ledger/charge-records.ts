import { utcDayText } from '../../core/clock.ts';
import { type FieldValue, recordArrayText } from '../connection/record-text.ts';
import type { Settlement } from './ledger.ts';

/** PostgreSQL has no place for NUL in text; what a provider sent must not make a charge impossible to store. */
function text(value: string | undefined, maxLength: number): string | undefined {
  return value?.replaceAll('\0', '').slice(0, maxLength);
}

/** Measurements are for reading, not for money: whatever a clock did, they must not stand in the way of a charge. */
function wholeMs(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0;
}

/** In the order of the columns of `held_charge` (0016_charges_within_holds.sql). */
const COLUMNS: readonly ((settlement: Settlement) => FieldValue)[] = [
  (s) => s.generationId,
  (s) => s.organizationId,
  (s) => s.keyId,
  (s) => utcDayText(s.day),
  (s) => text(s.model, 500),
  (s) => text(s.provider, 500),
  (s) => text(s.upstreamId, 200),
  (s) => wholeMs(s.createdAtMs),
  (s) => s.streamed,
  (s) => s.cancelled,
  (s) => text(s.finishReason, 100),
  (s) => s.usage.promptTokens,
  (s) => s.usage.completionTokens,
  (s) => s.usage.cachedTokens,
  (s) => s.usage.reasoningTokens,
  (s) => s.usageCounted,
  (s) => s.prices.inputPicoUsd,
  (s) => s.prices.cachedInputPicoUsd,
  (s) => s.prices.outputPicoUsd,
  (s) => s.costNanoUsd,
  (s) => wholeMs(s.latencyMs),
  (s) => wholeMs(s.generationTimeMs),
  (s) => s.holdNanoUsd,
  (s) => text(s.providerModel, 500),
];

/** A `held_charge[]`. */
export function chargeRecords(batch: readonly Settlement[]): string {
  return recordArrayText(batch, COLUMNS);
}

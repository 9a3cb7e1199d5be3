import { utcDayText } from '../../domain/clock.ts';
import type { Settlement } from '../ledger.ts';
import { type ArrayValue, arrayText } from './array-text.ts';

/** PostgreSQL has no place for NUL in text; what a provider sent must not make a charge impossible to store. */
function text(value: string | undefined, maxLength: number): string | null {
  return value === undefined ? null : value.replaceAll('\0', '').slice(0, maxLength);
}

/** Measurements are for reading, not for money: whatever a clock did, they must not stand in the way of a charge. */
function wholeMs(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0;
}

/** In the order of settle_generations()'s parameters: the type PostgreSQL is told, and each settlement's value. */
const COLUMNS: readonly (readonly [type: string, of: (settlement: Settlement) => ArrayValue])[] = [
  ['text[]', (s) => s.generationId],
  ['text[]', (s) => s.organizationId],
  ['text[]', (s) => s.keyId],
  ['date[]', (s) => utcDayText(s.day)],
  ['text[]', (s) => text(s.model, 500)],
  ['text[]', (s) => text(s.provider, 500)],
  ['text[]', (s) => text(s.upstreamId, 200)],
  ['bigint[]', (s) => wholeMs(s.createdAtMs)],
  ['boolean[]', (s) => s.streamed],
  ['boolean[]', (s) => s.cancelled],
  ['text[]', (s) => text(s.finishReason, 100)],
  ['bigint[]', (s) => s.usage.promptTokens],
  ['bigint[]', (s) => s.usage.completionTokens],
  ['bigint[]', (s) => s.usage.cachedTokens],
  ['bigint[]', (s) => s.usage.reasoningTokens],
  ['boolean[]', (s) => s.usageCounted],
  ['bigint[]', (s) => s.prices.inputPicoUsd],
  ['bigint[]', (s) => s.prices.cachedInputPicoUsd],
  ['bigint[]', (s) => s.prices.outputPicoUsd],
  ['bigint[]', (s) => s.costNanoUsd],
  ['bigint[]', (s) => wholeMs(s.latencyMs)],
  ['bigint[]', (s) => wholeMs(s.generationTimeMs)],
];

/** `$1::text[], $2::text[], …` */
export const SETTLEMENT_PARAMETERS = COLUMNS.map(([type], index) => `$${index + 1}::${type}`).join(', ');

export function settlementColumns(batch: readonly Settlement[]): string[] {
  return COLUMNS.map(([type, of]) => arrayText(type, batch, of));
}

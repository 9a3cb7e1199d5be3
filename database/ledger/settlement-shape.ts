import type { Prices, TokenUsage } from '../../core/pricing.ts';
import type { ClaimEnd, ClaimedSettlement, Settlement } from './ledger.ts';

type Check = (value: unknown) => boolean;
type Shape<T> = Readonly<Record<keyof T, Check>>;

const text: Check = (value) => typeof value === 'string';
const name: Check = (value) => typeof value === 'string' && value !== '';
const flag: Check = (value) => typeof value === 'boolean';
const integer: Check = Number.isSafeInteger;
const amount: Check = (value) => typeof value === 'bigint';
const bytes: Check = Buffer.isBuffer;
/** A measurement that is no number is `null` in JSON; it is no reason to lose a charge. */
const measured: Check = (value) => value === null || Number.isFinite(value);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const USAGE: Shape<TokenUsage> = {
  promptTokens: integer,
  completionTokens: integer,
  cachedTokens: integer,
  reasoningTokens: integer,
};
const PRICES: Shape<Prices> = { inputPicoUsd: amount, cachedInputPicoUsd: amount, outputPicoUsd: amount };
const CLAIM: Shape<ClaimEnd> = {
  keyHash: bytes,
  bodyHash: bytes,
  answer: optional(bytes),
  answerElsewhere: optional(flag),
  takenOver: optional(flag),
};
const SETTLEMENT: Shape<ClaimedSettlement> = {
  generationId: name,
  organizationId: name,
  keyId: name,
  day: integer,
  model: name,
  provider: text,
  providerModel: optional(text),
  upstreamId: optional(text),
  createdAtMs: measured,
  streamed: flag,
  cancelled: flag,
  finishReason: optional(text),
  usage: (value) => hasShape(value, USAGE),
  usageCounted: flag,
  prices: (value) => hasShape(value, PRICES),
  costNanoUsd: amount,
  holdNanoUsd: optional(amount),
  latencyMs: measured,
  generationTimeMs: measured,
  claim: optional((value) => hasShape(value, CLAIM)),
};

/** True if it has every member of a settlement, each of its type. The ledger judges the values. */
export function isSettlement(value: unknown): value is Settlement | ClaimedSettlement {
  return hasShape(value, SETTLEMENT);
}

function hasShape<T>(value: unknown, shape: Shape<T>): value is T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const members = value as Record<string, unknown>;
  return Object.entries<Check>(shape).every(([member, check]) => check(members[member]));
}

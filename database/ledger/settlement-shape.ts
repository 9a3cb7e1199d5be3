import { isObject } from '#core/json-object.ts';
import { byPrice, byTokens } from '#core/price-kinds.ts';
import type { Prices, TokenUsage } from '#core/pricing.ts';
import type { AnySettlement, ClaimEnd, Settlement } from './ledger.ts';

/** Kinds of values. `measured` may be `null`: a missing measurement must not cost a charge. */
const KINDS = {
  text: (value: unknown) => typeof value === 'string',
  name: (value: unknown) => typeof value === 'string' && value !== '',
  flag: (value: unknown) => typeof value === 'boolean',
  integer: Number.isSafeInteger,
  measured: (value: unknown) => value === null || Number.isFinite(value),
  /** Decimal text in JSON. */
  amount: (value: unknown) => typeof value === 'bigint',
  /** Base64 in JSON. */
  bytes: Buffer.isBuffer,
};

/** Possible kinds of a member. Every `bigint` is an amount. */
type KindOf<V> = V extends bigint
  ? 'amount'
  : V extends Buffer
    ? 'bytes'
    : V extends boolean
      ? 'flag'
      : V extends string
        ? 'text' | 'name'
        : V extends number
          ? 'integer' | 'measured'
          : Shape<V>;
/** Kinds of T's members, `[kind]` if optional. A missing member does not compile. */
type Shape<T> = {
  readonly [Member in keyof T]-?: undefined extends T[Member]
    ? readonly [KindOf<NonNullable<T[Member]>>]
    : KindOf<T[Member]>;
};
type AnyShape = { readonly [member: string]: AnyKind | readonly [AnyKind] };
type AnyKind = keyof typeof KINDS | AnyShape;

const USAGE: Shape<TokenUsage> = byTokens(() => 'integer');
const PRICES: Shape<Prices> = byPrice(() => 'amount');
const CLAIM: Shape<ClaimEnd> = {
  keyHash: 'bytes',
  bodyHash: 'bytes',
  response: ['bytes'],
  responseElsewhere: ['flag'],
  takenOver: ['flag'],
};
const SETTLEMENT: Shape<Settlement> = {
  generationId: 'name',
  organizationId: 'name',
  keyId: 'name',
  day: 'integer',
  model: 'name',
  provider: 'text',
  providerModel: 'text',
  upstreamId: ['text'],
  user: ['text'],
  createdAtMs: 'measured',
  api: ['text'],
  streamed: 'flag',
  cancelled: 'flag',
  finishReason: ['text'],
  usage: USAGE,
  usageCounted: 'flag',
  serviceTier: ['text'],
  prices: PRICES,
  pricedTier: ['text'],
  pricedAboveTokens: ['integer'],
  costNanoUsd: 'amount',
  holdNanoUsd: 'amount',
  tierLossNanoUsd: ['amount'],
  providerCostNanoUsd: ['amount'],
  listNanoUsd: ['amount'],
  firstEventMs: 'measured',
  generationTimeMs: 'measured',
};

const SHAPE: AnyShape = { ...SETTLEMENT, claim: [CLAIM] };

/** Collects the names of all members of this kind, at any depth. */
export function membersOfKind(kind: 'amount' | 'bytes', shape: AnyShape = SHAPE): ReadonlySet<string> {
  const members = Object.entries(shape).flatMap(([member, expected]) => {
    const own = kindOf(expected);
    if (own === kind) return [member];
    return typeof own === 'string' ? [] : [...membersOfKind(kind, own)];
  });
  return new Set(members);
}

/** True if all members are there, each of its kind. The ledger decides if they are possible. */
export function isSettlement(value: unknown): value is AnySettlement {
  return hasShape(value, SHAPE);
}

function hasShape(value: unknown, shape: AnyShape): boolean {
  if (!isObject(value)) return false;
  return Object.entries(shape).every(([member, expected]) => {
    const content = value[member];
    if (isOptional(expected) && content === undefined) return true;
    const kind = kindOf(expected);
    return typeof kind === 'string' ? KINDS[kind](content) : hasShape(content, kind);
  });
}

function kindOf(expected: AnyKind | readonly [AnyKind]): AnyKind {
  return isOptional(expected) ? expected[0] : expected;
}

function isOptional(expected: AnyKind | readonly [AnyKind]): expected is readonly [AnyKind] {
  return Array.isArray(expected);
}

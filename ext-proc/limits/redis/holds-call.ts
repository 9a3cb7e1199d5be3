import type { Outcome } from '../../../core/batching/joined-calls.ts';
import { DAY_MS, MINUTE_MS } from '../../../core/clock.ts';
import type { AccountSnapshot, RateLimits } from '../../../core/principal.ts';
import { StoreUnavailable } from '../../../core/store-unavailable.ts';
import type { ShardFences } from '../../../database/limits-ownership/shard-fences.ts';
import {
  type AdmissionRequest,
  type AdmissionResult,
  type HoldRelease,
  quarantineMs,
  type Refused,
} from '../limit-store.ts';
import { windowsLeft } from '../windows-left.ts';
import { availableAmount, takenAmount } from './amounts.ts';
import { shardKeyOf, shardOf } from './shards.ts';
import { refusedByScript } from './unavailable.ts';

/** An admission or a release that shares a call of Redis with others. */
export type HoldRequest =
  | { readonly kind: 'take'; readonly asked: AdmissionRequest }
  | { readonly kind: 'free'; readonly asked: HoldRelease };

/** `undefined`: a release is done. */
export type HoldResult = AdmissionResult | undefined;

/** One call of holds-n.lua. */
export interface HoldsCall {
  readonly keys: readonly string[];
  readonly hasAdmissions: boolean;
  readonly json: string;
  /** The requests in the order of the reply, each with its position among those that were given. */
  readonly inOrder: readonly OrderedRequest[];
}

interface OrderedRequest {
  readonly request: HoldRequest;
  readonly position: number;
}

export function holdsCall(requests: readonly HoldRequest[], fences: Pick<ShardFences, 'of'>): HoldsCall {
  const keys: string[] = [];
  const asked: (string | number)[] = [];
  const inOrder: OrderedRequest[] = [];
  const ordered = requests.map((request, position): OrderedRequest => ({ request, position }));
  let hasAdmissions = false;
  for (const [organizationId, those] of Map.groupBy(ordered, ({ request }) => request.asked.organizationId)) {
    keys.push(shardKeyOf(organizationId));
    asked.push(organizationId, those.length, 0, fences.of(shardOf(organizationId)));
    const end = asked.length - 2;
    for (const { request } of those) asked.push(request.asked.holdId);
    for (const one of those) {
      const { request } = one;
      inOrder.push(one);
      if (request.kind === 'free') addRelease(asked, request.asked);
      else {
        hasAdmissions = true;
        addAdmission(asked, request.asked);
      }
    }
    // Lua counts from 1.
    asked[end] = asked.length + 1;
  }
  return { keys, hasAdmissions, json: JSON.stringify(asked), inOrder };
}

function addAdmission(asked: (string | number)[], request: AdmissionRequest): void {
  asked.push('take', request.keyId, request.tokens, takenAmount(request.holdNanoUsd), request.concurrency);
  asked.push(quarantineMs(request));
  addLimits(asked, request.organizationLimits);
  addLimits(asked, request.keyLimits);
  addSnapshot(asked, request.snapshot);
}

function addRelease(asked: (string | number)[], release: HoldRelease): void {
  const { keyId, tokensUsed, snapshot, mayBeCharged } = release;
  if (snapshot === undefined) asked.push(mayBeCharged ? 'disown' : 'free', keyId, tokensUsed, '');
  else {
    asked.push('free', keyId, tokensUsed);
    addSnapshot(asked, snapshot);
  }
}

function addLimits(asked: (string | number)[], limits: RateLimits): void {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd } = limits;
  const budget = dailyBudgetNanoUsd === undefined ? '' : availableAmount(dailyBudgetNanoUsd);
  asked.push(requestsPerMinute ?? '', tokensPerMinute ?? '', budget);
}

function addSnapshot(asked: (string | number)[], { ledgerEpoch, organization, key }: AccountSnapshot): void {
  const balance = availableAmount(organization.balanceNanoUsd);
  const spent = takenAmount(organization.spentNanoUsd);
  asked.push(ledgerEpoch, `${organization.sequence}`, `${organization.day}`, balance, spent);
  asked.push(`${key.sequence}`, `${key.day}`, takenAmount(key.spentNanoUsd));
}

/** As the script returns it: what the header of holds-n.lua says, one after the other. */
export type HoldsReply = readonly (string | number)[];

/** Replies of Redis to the requests of one call, by their positions. */
export interface HoldsOutcomes {
  readonly outcomes: readonly Outcome<HoldResult>[];
  /** A shard was closed to one of the admissions. */
  readonly anyClosed: boolean;
}

export function outcomesOf(inOrder: HoldsCall['inOrder'], reply: HoldsReply): HoldsOutcomes {
  const serverNowMs = reply[0] as number;
  const outcomes: Outcome<HoldResult>[] = [];
  let at = 1;
  let anyClosed = false;
  for (const { request, position } of inOrder) {
    const verdict = reply[at] as Verdict;
    if (request.kind === 'take' && (verdict === 'closed' || verdict === 'fenced_off')) anyClosed = true;
    outcomes[position] = outcomeOf(request, verdict, reply, at, serverNowMs);
    at += LENGTHS[verdict];
  }
  return { outcomes, anyClosed };
}

function outcomeOf(
  request: HoldRequest,
  verdict: Verdict,
  reply: HoldsReply,
  at: number,
  serverNowMs: number,
): Outcome<HoldResult> {
  if (verdict === 'failed') return { ok: false, error: refusedByScript(String(reply[at + 1])) };
  if (request.kind === 'free') return { ok: true, value: undefined };
  if (verdict === 'closed') return { ok: false, error: new StoreUnavailable(FORGOT) };
  if (verdict === 'fenced_off') return { ok: false, error: new StoreUnavailable(FENCED_OFF) };
  if (verdict === 'done') return { ok: false, error: new Error(ANSWERED_AS_RELEASE) };
  return { ok: true, value: admissionResult(request.asked, verdict, reply, at, serverNowMs) };
}

/** The outcome of the admission is unknown then. */
export const ANSWERED_AS_RELEASE = 'Redis: an admission was answered as a release';

const FORGOT = 'Redis lost what was held; admissions wait until the live holds are known again';

/** Message about a former master that does not know of the new one. */
export const FENCED_OFF = 'this Redis is not the master any more: another one was opened in its place';

type Decided = 'admitted' | Refused['rule'];
type Verdict = 'done' | 'closed' | 'fenced_off' | 'failed' | 'read_again' | Decided;

/** Number of parts of a reply, the verdict included. */
const LENGTHS: Readonly<Record<Verdict, number>> = {
  ...{ done: 1, closed: 1, fenced_off: 1, failed: 2, read_again: 2 },
  ...{ admitted: 8, concurrency: 8, requests: 8, tokens: 8, daily_budget: 8, balance: 8 },
};

function admissionResult(
  request: AdmissionRequest,
  verdict: Decided | 'read_again',
  reply: HoldsReply,
  at: number,
  serverNowMs: number,
): AdmissionResult {
  const number = (offset: number): number => reply[at + 1 + offset] as number;
  const day = number(0);
  if (verdict === 'read_again') return { kind: verdict, day };
  // Times are converted to the caller's clock, so that the rest of a window is right for any
  // difference between the clocks.
  const aheadMs = request.nowMs - serverNowMs;
  const minuteEndsMs = (number(1) + 1) * MINUTE_MS + aheadMs;
  const windows = windowsLeft(
    request,
    { requests: number(3), tokens: number(4), resetsAtMs: minuteEndsMs },
    { requests: number(5), tokens: number(6), resetsAtMs: minuteEndsMs },
  );
  if (verdict === 'admitted') return { kind: 'admitted', day, windows };
  const dayEndsMs = (day + 1) * DAY_MS + aheadMs;
  const resetsAtMs = resetOf(verdict, request.nowMs, minuteEndsMs, dayEndsMs);
  return { kind: 'refused', rule: verdict, resetsAtMs, availableNanoUsd: BigInt(reply[at + 3] as string), windows };
}

function resetOf(rule: Refused['rule'], nowMs: number, minuteEndsMs: number, dayEndsMs: number): number {
  switch (rule) {
    case 'requests':
    case 'tokens':
      return minuteEndsMs;
    case 'daily_budget':
      return dayEndsMs;
    case 'concurrency':
    case 'balance':
      return nowMs;
  }
}

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

/** An admission or a release that waits for its answer. */
export type HoldRequest = Taking | Freeing;

export interface Taking {
  readonly kind: 'take';
  readonly asked: AdmissionRequest;
  readonly resolve: (result: AdmissionResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface Freeing {
  readonly kind: 'free';
  readonly asked: HoldRelease;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** One call of holds-n.lua. */
export interface HoldsCall {
  readonly keys: readonly string[];
  readonly hasAdmissions: boolean;
  readonly json: string;
  /** As they are answered. */
  readonly requests: readonly HoldRequest[];
}

export function holdsCall(requests: readonly HoldRequest[], fences: Pick<ShardFences, 'of'>): HoldsCall {
  const keys: string[] = [];
  const asked: (string | number)[] = [];
  const inOrder: HoldRequest[] = [];
  let hasAdmissions = false;
  for (const [organizationId, those] of Map.groupBy(requests, (request) => request.asked.organizationId)) {
    keys.push(shardKeyOf(organizationId));
    asked.push(organizationId, those.length, 0, fences.of(shardOf(organizationId)));
    const end = asked.length - 2;
    for (const request of those) asked.push(request.asked.holdId);
    for (const request of those) {
      inOrder.push(request);
      if (request.kind === 'free') addRelease(asked, request.asked);
      else {
        hasAdmissions = true;
        addAdmission(asked, request.asked);
      }
    }
    // Lua counts from 1.
    asked[end] = asked.length + 1;
  }
  return { keys, hasAdmissions, json: JSON.stringify(asked), requests: inOrder };
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

/** Answers everybody who waits. Returns whether a shard was closed to one of them. */
export function answerHolds(requests: readonly HoldRequest[], reply: HoldsReply): boolean {
  const serverNowMs = reply[0] as number;
  let at = 1;
  let anyClosed = false;
  for (const request of requests) {
    const verdict = reply[at] as Verdict;
    if (verdict === 'failed') request.reject(refusedByScript(String(reply[at + 1])));
    else if (request.kind === 'free') request.resolve();
    else if (verdict === 'closed') {
      anyClosed = true;
      request.reject(new StoreUnavailable(FORGOT));
    } else if (verdict === 'fenced_off') {
      anyClosed = true;
      request.reject(new StoreUnavailable(FENCED_OFF));
    } else if (verdict === 'done') request.reject(new Error('Redis: an admission was answered as a release'));
    else request.resolve(admissionResult(request.asked, verdict, reply, at, serverNowMs));
    at += LENGTHS[verdict];
  }
  return anyClosed;
}

const FORGOT = 'Redis lost what was held; admissions wait until the live holds are known again';

/** Of a server that was a master and is another's replica-to-be without knowing it. */
export const FENCED_OFF = 'this Redis is not the master any more: another one was opened in its place';

type Decided = 'admitted' | Refused['rule'];
type Verdict = 'done' | 'closed' | 'fenced_off' | 'failed' | 'read_again' | Decided;

/** Of the reply's parts, the verdict included. */
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
  // Moments are told by the caller's clock, so that what is left of a window is right whatever the difference between the two.
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

import type { Outcome } from '#core/batching/joined-calls.ts';
import { DAY_MS, firstOfMonth, firstOfNextMonth, MINUTE_MS, type UtcDay } from '#core/clock.ts';
import type { AccountSnapshot, KeyAccount, KeyLimits, RateLimits } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import {
  type AdmissionRequest,
  type AdmissionResult,
  type HoldRelease,
  quarantineMs,
  type Refused,
} from '../limit-store.ts';
import { windowsLeft } from '../windows-left.ts';
import { availableAmount, takenAmount } from './amounts.ts';
import { refusedByScript } from './redis-errors.ts';
import { shardKeyOf, shardOf } from './redis-keys.ts';

/** An admission or a release. Several of them share one call of Redis. */
export type HoldRequest =
  | { readonly kind: 'admit'; readonly facts: AdmissionRequest }
  | { readonly kind: 'release'; readonly facts: HoldRelease };

/** `undefined`: the release is done. */
export type HoldResult = AdmissionResult | undefined;

type Argument = string | number | readonly (string | number)[];

/** One call of holds-n.lua. */
export interface HoldsCall {
  readonly keys: readonly string[];
  readonly hasAdmissions: boolean;
  readonly json: string;
  /** Requests in the order of the reply, each with its position among the given ones. */
  readonly inOrder: readonly OrderedRequest[];
}

interface OrderedRequest {
  readonly request: HoldRequest;
  readonly position: number;
}

export function holdsCall(requests: readonly HoldRequest[], fences: Pick<ShardFences, 'of'>): HoldsCall {
  const keys: string[] = [];
  const args: Argument[] = [];
  const inOrder: OrderedRequest[] = [];
  const ordered = requests.map((request, position): OrderedRequest => ({ request, position }));
  let hasAdmissions = false;
  for (const [organizationId, those] of Map.groupBy(ordered, ({ request }) => request.facts.organizationId)) {
    keys.push(shardKeyOf(organizationId));
    args.push(organizationId, those.length, 0, fences.of(shardOf(organizationId)));
    const end = args.length - 2;
    for (const { request } of those) args.push(request.facts.holdId);
    for (const one of those) {
      const { request } = one;
      inOrder.push(one);
      if (request.kind === 'release') addRelease(args, request.facts);
      else {
        hasAdmissions = true;
        addAdmission(args, request.facts);
      }
    }
    // Lua counts from 1.
    args[end] = args.length + 1;
  }
  return { keys, hasAdmissions, json: JSON.stringify(args), inOrder };
}

function addAdmission(args: Argument[], request: AdmissionRequest): void {
  args.push('admit', request.keyId, request.tokens, takenAmount(request.holdNanoUsd), request.concurrency);
  args.push(quarantineMs(request));
  addLimits(args, request.organizationLimits);
  addLimits(args, request.keyLimits);
  args.push(longerBudgets(request.keyLimits, request.snapshot.key.day));
  addSnapshot(args, request.snapshot);
}

function addRelease(args: Argument[], release: HoldRelease): void {
  const { keyId, tokensUsed, snapshot, mayBeCharged, owedNanoUsd } = release;
  if (owedNanoUsd !== undefined) args.push('release_owed', keyId, tokensUsed, takenAmount(owedNanoUsd));
  else if (snapshot === undefined) args.push(mayBeCharged ? 'release_unknown' : 'release', keyId, tokensUsed, '');
  else {
    args.push('release', keyId, tokensUsed);
    addSnapshot(args, snapshot);
  }
}

function addLimits(args: Argument[], limits: RateLimits): void {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd } = limits;
  const budget = dailyBudgetNanoUsd === undefined ? '' : availableAmount(dailyBudgetNanoUsd);
  args.push(requestsPerMinute ?? '', tokensPerMinute ?? '', budget);
}

/** First day of this month and of the next, monthly budget, lifetime budget. */
function longerBudgets({ monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd }: KeyLimits, day: UtcDay): Argument {
  if (monthlyBudgetNanoUsd === undefined && lifetimeBudgetNanoUsd === undefined) return '';
  const [monthly, lifetime] = [monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd].map((budget) =>
    budget === undefined ? '' : availableAmount(budget),
  );
  return [firstOfMonth(day), firstOfNextMonth(day), monthly ?? '', lifetime ?? ''];
}

/** First day of the month, spend of the month, spend of the lifetime. */
function longerSpend({ day, monthSpentNanoUsd, lifetimeSpentNanoUsd }: KeyAccount): Argument {
  if (monthSpentNanoUsd === undefined && lifetimeSpentNanoUsd === undefined) return '';
  const [month, lifetime] = [monthSpentNanoUsd, lifetimeSpentNanoUsd].map((spent) =>
    spent === undefined ? '' : takenAmount(spent),
  );
  return [firstOfMonth(day), month ?? '', lifetime ?? ''];
}

function addSnapshot(args: Argument[], { ledgerEpoch, organization, key }: AccountSnapshot): void {
  const balance = availableAmount(organization.balanceNanoUsd);
  const spent = takenAmount(organization.spentNanoUsd);
  args.push(ledgerEpoch, `${organization.sequence}`, `${organization.day}`, balance, spent);
  args.push(`${key.sequence}`, `${key.day}`, takenAmount(key.spentNanoUsd), longerSpend(key));
}

/** Reply of the script, as the header of holds-n.lua describes it. */
export type HoldsReply = readonly (string | number)[];

/** Outcomes by their positions, and whether a shard was closed to an admission. */
export function outcomesOf(inOrder: HoldsCall['inOrder'], reply: HoldsReply) {
  const serverNowMs = reply[0] as number;
  const outcomes: Outcome<HoldResult>[] = [];
  let at = 1;
  let anyClosed = false;
  for (const { request, position } of inOrder) {
    const verdict = reply[at] as Verdict;
    if (request.kind === 'admit' && (verdict === 'closed' || verdict === 'fenced_off')) anyClosed = true;
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
  if (request.kind === 'release') return { ok: true, value: undefined };
  if (verdict === 'closed') return { ok: false, error: new StoreUnavailable(LOST_DATA) };
  if (verdict === 'fenced_off') return { ok: false, error: new StoreUnavailable(FENCED_OFF) };
  if (verdict === 'done') return { ok: false, error: new Error(REPLIED_AS_RELEASE) };
  return { ok: true, value: admissionResult(request.facts, verdict, reply, at, serverNowMs) };
}

/** Message about a reply of the wrong kind. The outcome of the admission is unknown. */
export const REPLIED_AS_RELEASE = 'Redis: the reply to an admission is that of a release';

const LOST_DATA = 'Redis lost its holds; admissions wait until the live ones are registered again';

/** Message about a former master that has not noticed the new one. */
export const FENCED_OFF = 'this Redis is no longer the master: another one was opened in its place';

type Decided = 'admitted' | Refused['rule'];
type Verdict = 'done' | 'closed' | 'fenced_off' | 'failed' | 'read_again' | Decided;

/** Number of parts of a reply, the verdict included. */
const LENGTHS: Readonly<Record<Verdict, number>> = {
  ...{ done: 1, closed: 1, fenced_off: 1, failed: 2, read_again: 2 },
  ...{ admitted: 8, concurrency: 9, requests: 9, tokens: 9, daily_budget: 9, balance: 9 },
  ...{ monthly_budget: 9, lifetime_budget: 9 },
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
  // Times are converted to the caller's clock, so that the time left in a window is right even if
  // the clocks differ.
  const aheadMs = request.nowMs - serverNowMs;
  const minuteEndsMs = (number(1) + 1) * MINUTE_MS + aheadMs;
  const windows = windowsLeft(
    request,
    { requests: number(3), tokens: number(4) },
    { requests: number(5), tokens: number(6) },
    minuteEndsMs,
  );
  if (verdict === 'admitted') return { kind: 'admitted', day, windows };
  const resetsAtMs = resetOf(verdict, request.nowMs, minuteEndsMs, day, aheadMs);
  const availableNanoUsd = BigInt(reply[at + 3] as string);
  return { kind: 'refused', rule: verdict, ofKey: number(7) === 1, resetsAtMs, availableNanoUsd, windows };
}

function resetOf(rule: Refused['rule'], nowMs: number, minuteEndsMs: number, day: UtcDay, aheadMs: number): number {
  switch (rule) {
    case 'requests':
    case 'tokens':
      return minuteEndsMs;
    case 'daily_budget':
      return (day + 1) * DAY_MS + aheadMs;
    case 'monthly_budget':
      return firstOfNextMonth(day) * DAY_MS + aheadMs;
    case 'concurrency':
    case 'lifetime_budget':
    case 'balance':
      return nowMs;
  }
}

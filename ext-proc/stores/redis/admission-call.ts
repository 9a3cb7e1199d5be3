import { DAY_MS, MINUTE_MS } from '../../domain/clock.ts';
import type { RateLimits } from '../../domain/principal.ts';
import type { AdmissionRequest, AdmissionResult, Refused } from '../limit-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { windowsLeft } from '../windows-left.ts';
import { availableAmount, takenAmount } from './amounts.ts';

/** What admit-6.lua is asked: its ARGV from 5 on. */
export function admissionArguments(request: AdmissionRequest): (string | number)[] {
  return [
    ...[request.holdId, request.keyId, request.tokens, takenAmount(request.holdNanoUsd), request.concurrency],
    ...limitArguments(request.organizationLimits),
    ...limitArguments(request.keyLimits),
    ...snapshotArguments(request.snapshot),
  ];
}

/** As admit-6.lua returns it. */
export type AdmitReply = readonly [
  verdict: 'closed' | 'read_again' | 'admitted' | Refused['rule'],
  serverNowMs: number,
  day: number,
  minute: number,
  availableNanoUsd: string,
  ...uses: [organizationRequests: number, organizationTokens: number, keyRequests: number, keyTokens: number],
];

export function admissionResult(request: AdmissionRequest, reply: AdmitReply): AdmissionResult {
  const [verdict, serverNowMs, day, minute, available, ...uses] = reply;
  if (verdict === 'closed') {
    throw new StoreUnavailable('Redis lost what was held; admissions wait until the live holds are known again');
  }
  if (verdict === 'read_again') return { kind: 'read_again', day };
  // Moments are told by the caller's clock, so that what is left of a window is right whatever the difference between the two.
  const here = (serverMs: number): number => serverMs + request.nowMs - serverNowMs;
  const resetsAtMs = here((minute + 1) * MINUTE_MS);
  const windows = windowsLeft(
    request,
    { requests: uses[0], tokens: uses[1], resetsAtMs },
    { requests: uses[2], tokens: uses[3], resetsAtMs },
  );
  switch (verdict) {
    case 'admitted':
      return { kind: 'admitted', day, windows };
    case 'requests':
    case 'tokens':
      return { kind: 'refused', rule: verdict, resetsAtMs, availableNanoUsd: BigInt(available), windows };
    case 'daily_budget':
      return {
        kind: 'refused',
        rule: verdict,
        resetsAtMs: here((day + 1) * DAY_MS),
        availableNanoUsd: BigInt(available),
        windows,
      };
    case 'concurrency':
    case 'balance':
      return {
        kind: 'refused',
        rule: verdict,
        resetsAtMs: request.nowMs,
        availableNanoUsd: BigInt(available),
        windows,
      };
  }
}

function limitArguments(limits: RateLimits): (string | number)[] {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd } = limits;
  return [
    requestsPerMinute ?? '',
    tokensPerMinute ?? '',
    dailyBudgetNanoUsd === undefined ? '' : availableAmount(dailyBudgetNanoUsd),
  ];
}

export function snapshotArguments(snapshot: AdmissionRequest['snapshot'] | undefined): (string | number)[] {
  if (snapshot === undefined) return ['', '', '', '', '', '', '', ''];
  const { ledgerEpoch, organization, key } = snapshot;
  return [
    ledgerEpoch,
    ...[organization.sequence, organization.day, availableAmount(organization.balanceNanoUsd)],
    takenAmount(organization.spentNanoUsd),
    ...[key.sequence, key.day, takenAmount(key.spentNanoUsd)],
  ];
}

import type { AdmissionRequest, Window, Windows } from './limit-store.ts';

/** Use of one minute by an organization or a key. */
export interface WindowUse {
  readonly requests: number;
  readonly tokens: number;
}

/** Computes what is left of each limit. Of key and organization the one with less left counts. */
export function windowsLeft(
  { organizationLimits, keyLimits }: Pick<AdmissionRequest, 'organizationLimits' | 'keyLimits'>,
  organization: WindowUse,
  key: WindowUse,
  resetsAtMs: number,
): Windows {
  const left = (limit: number | undefined, used: number): Window[] =>
    limit === undefined ? [] : [{ limit, remaining: Math.max(0, limit - used), resetsAtMs }];
  const requests = tightest([
    ...left(keyLimits.requestsPerMinute, key.requests),
    ...left(organizationLimits.requestsPerMinute, organization.requests),
  ]);
  const tokens = tightest([
    ...left(keyLimits.tokensPerMinute, key.tokens),
    ...left(organizationLimits.tokensPerMinute, organization.tokens),
  ]);
  return { ...(requests ? { requests } : {}), ...(tokens ? { tokens } : {}) };
}

function tightest([first, other]: readonly Window[]): Window | undefined {
  return other && first && other.remaining < first.remaining ? other : first;
}

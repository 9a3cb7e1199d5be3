import type { AdmissionRequest, Window, Windows } from './limit-store.ts';

/** Use of one minute by an organization or a key. */
export interface WindowUse {
  readonly requests: number;
  readonly tokens: number;
  readonly resetsAtMs: number;
}

/** Computes what is left of each limit. Of key and organization the one with less left counts. */
export function windowsLeft(
  { organizationLimits: ofOrganization, keyLimits: ofKey }: Pick<AdmissionRequest, 'organizationLimits' | 'keyLimits'>,
  organization: WindowUse,
  key: WindowUse,
): Windows {
  const requests = tightest([
    left(ofKey.requestsPerMinute, key.requests, key.resetsAtMs),
    left(ofOrganization.requestsPerMinute, organization.requests, organization.resetsAtMs),
  ]);
  const tokens = tightest([
    left(ofKey.tokensPerMinute, key.tokens, key.resetsAtMs),
    left(ofOrganization.tokensPerMinute, organization.tokens, organization.resetsAtMs),
  ]);
  return { ...(requests ? { requests } : {}), ...(tokens ? { tokens } : {}) };
}

function left(limit: number | undefined, used: number, resetsAtMs: number): Window | undefined {
  return limit === undefined ? undefined : { limit, remaining: Math.max(0, limit - used), resetsAtMs };
}

function tightest(windows: readonly (Window | undefined)[]): Window | undefined {
  let least: Window | undefined;
  for (const window of windows) if (window && (!least || window.remaining < least.remaining)) least = window;
  return least;
}

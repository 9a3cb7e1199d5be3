import type { Window, Windows } from '../limits/limit-store.ts';

/**
 * `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, only for limits that exist
 * (docs/interface.md, "Response headers").
 */
export function rateLimitHeaders({ requests, tokens }: Windows, nowMs: number): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (requests !== undefined) {
    headers['x-ratelimit-limit-requests'] = String(requests.limit);
    headers['x-ratelimit-remaining-requests'] = remaining(requests);
    headers['x-ratelimit-reset-requests'] = reset(requests, nowMs);
  }
  if (tokens !== undefined) {
    headers['x-ratelimit-limit-tokens'] = String(tokens.limit);
    headers['x-ratelimit-remaining-tokens'] = remaining(tokens);
    headers['x-ratelimit-reset-tokens'] = reset(tokens, nowMs);
  }
  return headers;
}

function remaining(window: Window): string {
  return String(Math.max(0, window.remaining));
}

function reset(window: Window, nowMs: number): string {
  return `${Math.max(0, Math.ceil((window.resetsAtMs - nowMs) / 1000))}s`;
}

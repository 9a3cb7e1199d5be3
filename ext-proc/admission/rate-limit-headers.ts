import type { Window, Windows } from '../stores/limit-store.ts';

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, only for limits that exist (INTERFACE 4, 5). */
export function rateLimitHeaders(windows: Windows, nowMs: number): Readonly<Record<string, string>> {
  return { ...headersOf('requests', windows.requests, nowMs), ...headersOf('tokens', windows.tokens, nowMs) };
}

function headersOf(unit: 'requests' | 'tokens', window: Window | undefined, nowMs: number): Record<string, string> {
  if (window === undefined) return {};
  return {
    [`x-ratelimit-limit-${unit}`]: String(window.limit),
    [`x-ratelimit-remaining-${unit}`]: String(Math.max(0, window.remaining)),
    [`x-ratelimit-reset-${unit}`]: `${Math.max(0, Math.ceil((window.resetsAtMs - nowMs) / 1000))}s`,
  };
}

import { MINUTE_MS } from '#core/clock.ts';

/** Use of one UTC minute by an organization or a key. */
export interface MinuteWindow {
  minute: number;
  requests: number;
  tokens: number;
}

export function emptyWindow(): MinuteWindow {
  return { minute: -1, requests: 0, tokens: 0 };
}

/**
 * Assigns calls to minutes. A call reads the clock before it arrives here, so it may arrive after a
 * call of the next minute. It is then counted in that minute. If the clock is set back by more than
 * a minute, the earlier minute begins again.
 */
export function createMinuteClock(): (nowMs: number) => number {
  let current = -1;
  return (nowMs) => {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== current - 1) current = minute;
    return current;
  };
}

export function moveTo(window: MinuteWindow, minute: number): void {
  if (minute === window.minute) return;
  window.minute = minute;
  window.requests = 0;
  window.tokens = 0;
}

export function addRequest(window: MinuteWindow, tokens: number): void {
  window.requests += 1;
  window.tokens += tokens;
}

export function endOf(window: MinuteWindow): number {
  return (window.minute + 1) * MINUTE_MS;
}

/** An unused window admits a request above the limit (docs/interface.md, "Limits and holds"). */
export function hasTokens(window: MinuteWindow, limit: number | undefined, tokens: number): boolean {
  return limit === undefined || window.tokens === 0 || window.tokens + tokens <= limit;
}

export function hasRequest(window: MinuteWindow, limit: number | undefined): boolean {
  return limit === undefined || window.requests + 1 <= limit;
}

import type { Clock } from '#core/clock.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { HoldRelease, LimitStore } from '../limits/limit-store.ts';

export type LateReleases = ReturnType<typeof createLateReleases>;

const RETRY_EVERY_MS = 1_000;
/** Enough for an outage of minutes. Further holds end with their quarantine. */
const MOST_WAITING = 20_000;
const MOST_TOGETHER = 200;

/** Repeats releases until the store confirms them, because an unreleased hold keeps its money. */
export function createLateReleases(limits: Pick<LimitStore, 'release'>, clock: Clock) {
  const waiting = new Map<string, HoldRelease>();
  let trying: Promise<void> | undefined;
  const timer = setInterval(() => void tryAll(), RETRY_EVERY_MS);
  timer.unref();

  function tryAll(): Promise<void> {
    trying ??= tryEach().finally(() => {
      trying = undefined;
    });
    return trying;
  }

  async function tryEach(): Promise<void> {
    const all = [...waiting.values()];
    for (let from = 0; from < all.length; from += MOST_TOGETHER) {
      const results = await Promise.all(all.slice(from, from + MOST_TOGETHER).map(tryOne));
      if (results.includes('unavailable')) break;
    }
  }

  async function tryOne(release: HoldRelease): Promise<'done' | 'unavailable'> {
    try {
      await limits.release({ ...release, nowMs: clock.nowMs() });
    } catch (error) {
      if (error instanceof StoreUnavailable) return 'unavailable';
      // Other errors are final: keys in the store were changed by hand.
    }
    if (waiting.get(release.holdId) === release) waiting.delete(release.holdId);
    return 'done';
  }

  return {
    /** Adds a release. One that only marks its hold as owed does not replace one that ends it. */
    add(release: HoldRelease): void {
      const { holdId, owedNanoUsd } = release;
      if (owedNanoUsd !== undefined && waiting.has(holdId)) return;
      if (waiting.size < MOST_WAITING) waiting.set(holdId, release);
    },
    waiting: () => waiting.size,
    /** Tries all of them once more. Never rejects. */
    async close(): Promise<void> {
      clearInterval(timer);
      await trying;
      await tryAll();
    },
  };
}

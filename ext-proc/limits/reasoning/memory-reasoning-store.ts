import type { Clock } from '#core/clock.ts';
import { KeptMessages } from './kept-messages.ts';
import type { ReasoningBounds, ReasoningStore } from './reasoning-store.ts';

/** Lets messages expire even if the process keeps no new ones. */
const EXPIRE_EVERY_MS = 60_000;

/** Value of an ambiguous name, by which nothing is found. */
const AMBIGUOUS = Buffer.alloc(0);

export interface ReasoningStoreOptions {
  readonly bounds: ReasoningBounds;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly onEvicted: (messages: number) => void;
}

/** Keeps reasoning for one process. */
export function createMemoryReasoningStore({ bounds, clock, onEvicted }: ReasoningStoreOptions): ReasoningStore {
  const kept = new KeptMessages<Buffer>(bounds);
  const timer = setInterval(() => kept.expire(clock.monotonicMs()), EXPIRE_EVERY_MS);
  timer.unref();
  return {
    async keep({ organizationId, name, sealed }) {
      const fits = sealed.length <= bounds.messageBytes;
      const nowMs = clock.monotonicMs();
      const known = kept.get(name, nowMs) ?? sealed;
      const value = fits && known.equals(sealed) ? sealed : AMBIGUOUS;
      const evicted = kept.add({ organizationId, name, value, bytes: value.length }, nowMs);
      if (evicted.length > 0) onEvicted(evicted.length);
      return fits ? 'kept' : 'full';
    },
    async find(_, names, mostBytes) {
      const nowMs = clock.monotonicMs();
      let leftBytes = mostBytes;
      return names.map((name) => {
        const sealed = kept.get(name, nowMs);
        if (sealed === undefined || sealed.length === 0 || sealed.length > leftBytes) return undefined;
        leftBytes -= sealed.length;
        return sealed;
      });
    },
    heldBytes: () => kept.bytes,
    close() {
      clearInterval(timer);
      kept.clear();
    },
  };
}

import type { Clock } from '../domain/clock.ts';
import type { LimitStore } from '../stores/limit-store.ts';
import type { LimitStoreOperation, StoreMetrics } from './store-metrics.ts';

/** The same store; each call is one observation. */
export function watchLimitStore(
  limits: LimitStore,
  metrics: Pick<StoreMetrics, 'limitStoreCall'>,
  clock: Pick<Clock, 'monotonicMs'>,
): LimitStore {
  async function timed<T>(operation: LimitStoreOperation, call: () => Promise<T>): Promise<T> {
    const startedMs = clock.monotonicMs();
    let failed = true;
    try {
      const result = await call();
      failed = false;
      return result;
    } finally {
      metrics.limitStoreCall(operation, clock.monotonicMs() - startedMs, failed);
    }
  }
  return {
    admit: (request) => timed('admit', () => limits.admit(request)),
    release: (release) => timed('release', () => limits.release(release)),
    renew: (holds, nowMs) => timed('renew', () => limits.renew(holds, nowMs)),
    heldNanoUsd: (organizationId, nowMs) => timed('held', () => limits.heldNanoUsd(organizationId, nowMs)),
    takeRead: (keyId, readsPerMinute, nowMs) => timed('take_read', () => limits.takeRead(keyId, readsPerMinute, nowMs)),
    close: () => limits.close(),
  };
}

import type { Clock } from '#core/clock.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import type { LimitStoreOperation, StoreMetrics } from './store-metrics.ts';

/** Measures the calls of a store and counts the reads that it refuses. */
export function watchLimitStore(
  limits: LimitStore,
  metrics: Pick<StoreMetrics, 'limitStoreCall' | 'admissionRefused'>,
  clock: Pick<Clock, 'monotonicMs'>,
): LimitStore {
  /** Returns the store's own promise, so that measuring adds no turn of the event loop. */
  function timed<T>(
    operation: LimitStoreOperation,
    call: () => Promise<T>,
    note: (result: T) => void = () => undefined,
  ): Promise<T> {
    const startedMs = clock.monotonicMs();
    const result = call();
    const observe = (failed: boolean) => metrics.limitStoreCall(operation, clock.monotonicMs() - startedMs, failed);
    result.then(
      (settled) => {
        observe(false);
        note(settled);
      },
      () => observe(true),
    );
    return result;
  }
  return {
    // A refused admission may be retried, so `admit` in requests counts those that stay refused.
    admit: (request) => timed('admit', () => limits.admit(request)),
    release: (release) => timed('release', () => limits.release(release)),
    renew: (holds, nowMs) => timed('renew', () => limits.renew(holds, nowMs)),
    heldNanoUsd: (organizationId, nowMs) => timed('held', () => limits.heldNanoUsd(organizationId, nowMs)),
    takeRead: (keyId, readsPerMinute, nowMs) =>
      timed(
        'take_read',
        () => limits.takeRead(keyId, readsPerMinute, nowMs),
        (result) => {
          if (!result.allowed) metrics.admissionRefused('reads');
        },
      ),
    countRefused: (id, requests, nowMs) => timed('count_refused', () => limits.countRefused(id, requests, nowMs)),
    close: () => limits.close(),
  };
}

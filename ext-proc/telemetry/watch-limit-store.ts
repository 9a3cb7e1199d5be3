import type { Clock } from '../domain/clock.ts';
import type { LimitStore } from '../stores/limit-store.ts';
import type { LimitStoreOperation, StoreMetrics } from './store-metrics.ts';

/** The same store; each call is one observation, and each refusal one more. */
export function watchLimitStore(
  limits: LimitStore,
  metrics: Pick<StoreMetrics, 'limitStoreCall' | 'admissionRefused'>,
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
    async admit(request) {
      const result = await timed('admit', () => limits.admit(request));
      if (result.kind === 'refused') metrics.admissionRefused(result.rule);
      return result;
    },
    release: (release) => timed('release', () => limits.release(release)),
    renew: (holds, nowMs) => timed('renew', () => limits.renew(holds, nowMs)),
    heldNanoUsd: (organizationId, nowMs) => timed('held', () => limits.heldNanoUsd(organizationId, nowMs)),
    async takeRead(keyId, readsPerMinute, nowMs) {
      const result = await timed('take_read', () => limits.takeRead(keyId, readsPerMinute, nowMs));
      if (!result.allowed) metrics.admissionRefused('reads');
      return result;
    },
    close: () => limits.close(),
  };
}

import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { AdmissionRequest } from '../limits/limit-store.ts';
import { MemoryLimitStore } from '../limits/memory/memory-limit-store.ts';
import { hostMetrics } from './host-metrics.ts';
import { createMetrics } from './metrics.ts';
import { watchLimitStore } from './watch-limit-store.ts';

async function current(
  metrics: Pick<ReturnType<typeof createMetrics>, 'registry'>,
  name: string,
): Promise<number | undefined> {
  const [value] = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
  return value?.value;
}

describe('metrics of charges', () => {
  it('have the charges that wait in the log when they are read', async () => {
    const metrics = createMetrics();
    const state = { waiting: 2, oldestMs: 1_500, isFailing: true };
    metrics.watchChargeLog({
      waiting: () => state.waiting,
      oldestMs: () => state.oldestMs,
      isFailing: () => state.isFailing,
      freeBytes: () => Promise.reject(new Error('gone')),
      damagedFiles: async () => 2,
    });
    const read = () =>
      Promise.all(
        ['charges_waiting', 'charges_waiting_seconds', 'charge_log_failing', 'charge_log_damaged_files'].map((name) =>
          current(metrics, `gateway_${name}`),
        ),
      );
    expect(await read()).toEqual([2, 1.5, 1, 2]);
    Object.assign(state, { waiting: 0, oldestMs: 0, isFailing: false });
    expect(await read()).toEqual([0, 0, 0, 2]);
    expect(await current(metrics, 'gateway_charge_log_free_bytes')).toBeNaN();
  });

  it('count what an operator has to look at', async () => {
    const metrics = createMetrics();
    metrics.chargeDeadLettered();
    metrics.chargeLost();
    metrics.chargeLost();
    metrics.holdsLost(3);
    expect(await current(metrics, 'gateway_dead_letters_total')).toBe(1);
    expect(await current(metrics, 'gateway_charges_lost_total')).toBe(2);
    expect(await current(metrics, 'gateway_holds_lost_total')).toBe(3);
  });
});

describe('unknown service tiers', () => {
  it('are counted by name up to a bound, and then as `other`', async () => {
    const metrics = createMetrics();
    for (let n = 0; n < 100; n++) metrics.unknownTier('model', `tier-${n}`);
    metrics.unknownTier('model', 'tier-1');
    const { values = [] } =
      (await metrics.registry.getSingleMetric('gateway_unknown_service_tiers_total')?.get()) ?? {};
    const byTier = new Map(values.map(({ labels, value }) => [labels.tier, value]));
    expect([byTier.size, byTier.get('tier-1'), byTier.get('other')]).toEqual([33, 2, 68]);
  });
});

describe('metrics of the process', () => {
  it("read readiness, memory and the certificate's expiry at each scrape", async () => {
    const metrics = createMetrics();
    let notReady: string | undefined = 'the limit store does not answer';
    let endsMs: number | undefined = 1_800_000_000_000;
    const facts = { workers: 2, notReady: async () => notReady, certificateExpiresAtMs: async () => endsMs };
    const host = { registry: hostMetrics(facts) };
    let heldBytes = 5;
    metrics.watchMemory(() => [{ use: 'answers', held: { heldBytes, limitBytes: 10 } }]);
    expect(await current(host, 'gateway_ready')).toBe(0);
    expect(await current(host, 'gateway_certificate_expiry_timestamp_seconds')).toBe(1_800_000_000);
    expect(await current(metrics, 'gateway_memory_held_bytes')).toBe(5);
    expect(await current(metrics, 'gateway_memory_limit_bytes')).toBe(10);
    notReady = 'draining: Envoy is asked to end';
    expect(await current(host, 'gateway_ready')).toBeUndefined();
    notReady = undefined;
    endsMs = undefined;
    heldBytes = 0;
    expect(await current(host, 'gateway_ready')).toBe(1);
    expect(await current(host, 'gateway_certificate_expiry_timestamp_seconds')).toBeUndefined();
    expect(await current(metrics, 'gateway_memory_held_bytes')).toBe(0);
  });

  it('have the reason why there was no memory', async () => {
    const metrics = createMetrics();
    metrics.memoryRefused('request_bodies')('share');
    const counted = await metrics.registry.getSingleMetric('gateway_memory_refused_total')?.get();
    expect(counted?.values.filter(({ value }) => value > 0)).toEqual([
      { value: 1, labels: { use: 'request_bodies', reason: 'share' } },
    ]);
    expect(counted?.values).toHaveLength(6);
  });

  it('tell what is held, to the cent of a cent', async () => {
    const metrics = createMetrics();
    const ids = { holdId: 'gen-1', organizationId: 'org-1', keyId: 'key-1' };
    const hold = { ...ids, day: 1, holdNanoUsd: 1_500_000_001n, totalTimeoutMs: 1 };
    metrics.watchHolds(() => [hold, { ...hold, holdId: 'gen-2', holdNanoUsd: 500_000_000n }]);
    expect(await current(metrics, 'gateway_holds')).toBe(2);
    expect(await current(metrics, 'gateway_held_usd')).toBe(2.000000001);
  });
});

describe('metrics of the limit store', () => {
  it('time every call, and count failed calls', async () => {
    const metrics = createMetrics();
    let nowMs = 0;
    const store = new MemoryLimitStore({ leaseMs: 1_000 });
    const away = () => {
      nowMs += 40;
      return Promise.reject(new StoreUnavailable('away'));
    };
    const limits = watchLimitStore(Object.assign(store, { admit: away }), metrics, { monotonicMs: () => nowMs });
    expect(await limits.heldNanoUsd('org-1', 0)).toBe(0n);
    await expect(limits.admit({} as AdmissionRequest)).rejects.toThrow('away');
    expect((await limits.takeRead('key-1', 1, 0)).allowed).toBe(true);
    expect((await limits.takeRead('key-1', 1, 0)).allowed).toBe(false);
    const page = await metrics.registry.metrics();
    expect(page).toContain('gateway_admissions_refused_total{rule="reads"} 1\n');
    expect(page).toContain('gateway_admissions_refused_total{rule="balance"} 0\n');
    expect(page).toContain('gateway_limit_store_duration_seconds_sum{operation="admit"} 0.04\n');
    expect(page).toContain('gateway_limit_store_duration_seconds_count{operation="held"} 1\n');
    expect(page).toContain('gateway_limit_store_failures_total{operation="admit"} 1\n');
    expect(page).toContain('gateway_limit_store_failures_total{operation="held"} 0\n');
  });
});

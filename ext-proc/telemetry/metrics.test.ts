import { describe, expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';

async function current(metrics: ReturnType<typeof createMetrics>, name: string): Promise<number | undefined> {
  const [value] = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
  return value?.value;
}

describe('metrics of charges', () => {
  it('say what waits in the spool at the moment they are read', async () => {
    const metrics = createMetrics();
    const pending = [{ bytes: 120 }, { bytes: 30 }];
    metrics.watchSpool(() => pending);
    expect(await current(metrics, 'gateway_spool_charges')).toBe(2);
    expect(await current(metrics, 'gateway_spool_bytes')).toBe(150);
    pending.length = 0;
    expect(await current(metrics, 'gateway_spool_charges')).toBe(0);
    expect(await current(metrics, 'gateway_spool_bytes')).toBe(0);
  });

  it('count what an operator has to look at', async () => {
    const metrics = createMetrics();
    metrics.chargeBuried();
    metrics.chargeLost();
    metrics.chargeLost();
    metrics.holdsLost(3);
    expect(await current(metrics, 'gateway_dead_letters_total')).toBe(1);
    expect(await current(metrics, 'gateway_charges_lost_total')).toBe(2);
    expect(await current(metrics, 'gateway_holds_lost_total')).toBe(3);
  });
});

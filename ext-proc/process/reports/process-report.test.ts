import { afterEach, expect, it, vi } from 'vitest';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import type { EnvoyState } from '../../envoy-config/envoy-admin.ts';
import { clusterOf } from '../../envoy-config/provider-cluster.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { gatherReport, type ReportSources } from './process-report.ts';
import { watchActivity } from './process-report-activity.ts';
import { createConfigurationReport } from './process-report-configuration.ts';
import { createMachineMeter } from './process-report-machine.ts';

const clock = { nowMs: () => 1_000_000, monotonicMs: () => performance.now() };
const config = configWith(modelWith());
const never = new AbortController().signal;
const LOOK: EnvoyState = {
  version: '1.39.3',
  state: 'LIVE',
  uptimeMs: 12_000,
  ejected: new Set(),
  serversOut: new Map(),
};

function sources(changes: Partial<ReportSources> = {}): ReportSources {
  const source = { files: [], secretFiles: [], caBundles: [], fingerprint: 'unused' };
  const configuration = createConfigurationReport('gateway.yaml', clock, {
    ok: true,
    declared: { models: {}, baseUrls: new Map(), untiered: new Set(), priceLists: [] },
    storesChanged: false,
    variables: { ofDashboard: [], ofDashboardAlone: [] },
    config,
    warnings: [],
    source,
  });
  return {
    clock,
    gatewayVersion: '1.2.3',
    machine: createMachineMeter(clock),
    activity: watchActivity(createMetrics(), clock).activity,
    config: () => config,
    configuration: configuration.current,
    waitingCharges: () => [],
    liveHolds: () => [],
    restingTargets: (providers) => new Map([...providers].map((name) => [name, 2])),
    notReady: async () => undefined,
    ...changes,
  };
}

afterEach(() => void vi.useRealTimers());

it('puts the parts together', async () => {
  const report = await gatherReport(
    sources({
      waitingCharges: () => [{ bytes: 3 }, { bytes: 4 }],
      notReady: async () => 'draining',
      envoy: async () => LOOK,
      requestLog: () => ({ waiting: 5, dropped: 1 }),
    }),
    never,
  );
  expect(report).toMatchObject({
    gatewayVersion: '1.2.3',
    notReady: 'draining',
    requests: { inFlight: 0, ended: 0, failed: 0 },
    waitingCharges: { count: 2, bytes: 7 },
    holds: { totalNanoUsd: '0', count: 0 },
    requestLog: { waiting: 5, dropped: 1 },
    envoy: { reachable: true, version: '1.39.3', state: 'LIVE', uptimeMs: 12_000 },
    providers: { local: { attempts: 0, failures: 0, lastFailure: null, ejected: false, restingTargets: 2 } },
  });
  expect(JSON.stringify(report)).not.toContain('provider-secret');
});

it("reports ejected providers by their clusters, but only if it has read Envoy's state", async () => {
  const ejectedIn = async (changes: Partial<ReportSources>) =>
    (await gatherReport(sources(changes), never)).providers.local?.ejected;
  expect(
    await ejectedIn({
      envoy: async () => ({ ...LOOK, ejected: new Set([...config.providers.values()].map(clusterOf)) }),
    }),
  ).toBe(true);
  expect(await ejectedIn({ envoy: async () => ({ ...LOOK, ejected: new Set(['local-0']) }) })).toBe(false);
  expect(await ejectedIn({ envoy: async () => undefined })).toBe(null);
  expect(await ejectedIn({})).toBe(null);
  const [cluster = ''] = [...config.providers.values()].map(clusterOf);
  const envoy = async () => ({ ...LOOK, serversOut: new Map([[cluster, ['a:1 (ejected)']]]) });
  const { providers } = await gatherReport(sources({ envoy }), never);
  expect(providers.local?.serversOut).toEqual(['a:1 (ejected)']);
});

it('distinguishes an Envoy that does not respond from one that another process reports', async () => {
  expect((await gatherReport(sources({ envoy: async () => undefined }), never)).envoy).toEqual({ reachable: false });
  expect(await gatherReport(sources(), never)).toMatchObject({ envoy: null, requestLog: null, notReady: null });
});

it('does not wait for a part that hangs, and not at all when the process ends', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const hanging = { notReady: () => new Promise<undefined>(() => {}), envoy: () => new Promise<undefined>(() => {}) };
  const late = gatherReport(sources(hanging), never);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await late).toMatchObject({
    notReady: 'whether it is ready was not known in time',
    envoy: { reachable: false },
  });
  const stopping = new AbortController();
  const cut = gatherReport(sources(hanging), stopping.signal);
  stopping.abort();
  expect((await cut).envoy).toEqual({ reachable: false });
});

it('measures a blocked event loop as lag, but only once', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  let nowMs = 0;
  const meter = createMachineMeter({ ...clock, monotonicMs: () => nowMs });
  const fire = (lateMs: number) => {
    nowMs += 50 + lateMs;
    vi.advanceTimersByTime(50);
  };
  for (const lateMs of [0, 0, 300, 0]) fire(lateMs);
  const busy = meter.take();
  expect(busy.overMs).toBe(500);
  expect(busy.eventLoopLagMs).toMatchObject({ p50: 0, max: expect.closeTo(300, 0) });
  fire(0);
  expect(meter.take()).toMatchObject({ overMs: 50, eventLoopLagMs: { max: 0 } });
  meter.close();
});

it('measures the CPU and the memory that it uses', () => {
  const meter = createMachineMeter(clock);
  const before = process.threadCpuUsage().user;
  while (process.threadCpuUsage().user - before < 200_000);
  const { cpuFraction, overMs, rssBytes, heapUsedBytes } = meter.take();
  expect(cpuFraction * overMs).toBeGreaterThan(180);
  expect(rssBytes).toBeGreaterThan(heapUsedBytes);
  meter.close();
});

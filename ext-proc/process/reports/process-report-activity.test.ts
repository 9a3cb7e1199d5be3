import { expect, it } from 'vitest';
import { createMetrics } from '../../telemetry/metrics.ts';
import type { EndedRequest } from '../../telemetry/request-metrics.ts';
import { watchActivity } from './process-report-activity.ts';

const at = { nowMs: 1_000, monotonicMs: 0 };

function watched() {
  const metrics = createMetrics();
  return {
    registry: metrics.registry,
    ...watchActivity(metrics, { nowMs: () => at.nowMs, monotonicMs: () => at.monotonicMs }),
  };
}

const request = (status: number, code = '', probe = false): EndedRequest => ({
  route: 'chat',
  status,
  code,
  probe,
  durationMs: 1,
});

it('counts broken streams as failed, but not refusals or clients that left', () => {
  const { metrics, activity } = watched();
  const all = [
    request(200),
    request(200, 'upstream_error'),
    request(401, 'invalid_api_key'),
    request(408, 'request_timeout'),
    request(429, 'rpm_exceeded'),
    request(499),
    request(503, 'no_capacity'),
  ];
  for (const one of all) {
    metrics.requestStarted(false);
    metrics.requestEnded(one);
  }
  expect(activity.takeEnded()).toEqual({ ended: 7, failed: 3 });
  expect(activity.takeEnded()).toEqual({ ended: 0, failed: 0 });
});

it('does not count probes as ended, and counts requests in flight', () => {
  const { metrics, activity } = watched();
  metrics.requestStarted(true);
  metrics.requestStarted(false);
  metrics.requestStarted(false);
  expect(activity.inFlight).toBe(2);
  metrics.requestEnded(request(503, 'no_capacity', true));
  expect(activity.inFlight).toBe(2);
  expect(activity.takeEnded()).toEqual({ ended: 0, failed: 0 });
});

it('passes everything on to the metrics, and attempts to the health of their providers', async () => {
  const { metrics, activity, registry } = watched();
  metrics.requestStarted(false);
  metrics.requestEnded(request(200));
  metrics.attempts([{ provider: 'a', result: 'reset' }]);
  metrics.holdsLost(3);
  const page = await registry.metrics();
  expect(page).toContain('gateway_requests_total{route="chat",status="200",code=""} 1');
  expect(page).toContain('gateway_upstream_attempts_total{provider="a",result="reset"} 1');
  expect(page).toContain('gateway_holds_lost_total 3');
  const health = { attempts: 1, failures: 1, lastFailure: { result: 'reset', atMs: 1_000 } };
  expect([...activity.providers.health([])]).toEqual([['a', health]]);
});

it('reports for an hour which models were served at a tier that no table has', async () => {
  const { metrics, activity, registry } = watched();
  metrics.unknownTier('model', 'turbo');
  metrics.unknownTier('model', 'warp');
  expect(activity.unknownTiers()).toEqual({ model: 'warp' });
  expect(await registry.metrics()).toContain('gateway_unknown_service_tiers_total{model="model",tier="turbo"} 1');
  at.nowMs -= 3_600_001;
  expect(activity.unknownTiers()).toEqual({ model: 'warp' });
  at.monotonicMs += 3_600_001;
  expect(activity.unknownTiers()).toEqual({});
});

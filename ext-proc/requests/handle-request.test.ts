import { expect, test } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { configWith } from '#test/fixtures/gateway-config.ts';
import { MemoryLimitStore } from '../limits/memory/memory-limit-store.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import type { Exchange } from '../transport/exchange.ts';
import { createRequestHandler, type RequestHandlerDeps } from './handle-request.ts';

test('the access line of an unknown route has the address of the client, but no route', async () => {
  const lines: object[] = [];
  const handle = createRequestHandler({
    ...{ limits: new MemoryLimitStore({ leaseMs: 1000 }), clock: systemClock, metrics: createMetrics() },
    config: () => ({ ...configWith(), trustedProxies: ['10.0.0.1'] }),
    log: { info: (line: object) => lines.push(line) },
    requestLog: { addRefused: () => true },
    isProbe: () => false,
  } as unknown as RequestHandlerDeps);
  const headers: Readonly<Record<string, string>> = { 'x-forwarded-for': '192.0.2.7' };
  const exchange = { requestId: 'request', method: 'GET', path: '/v1/nothing', peerAddress: '10.0.0.1' };
  const sent = { header: (name: string) => headers[name], respond: async () => undefined };
  await handle({ ...exchange, ...sent } as unknown as Exchange);
  expect(lines).toEqual([expect.objectContaining({ code: 'route_not_found', address: '192.0.2.7', route: undefined })]);
});

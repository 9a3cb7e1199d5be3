import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Counter, Gauge, type Registry } from 'prom-client';
import { afterAll, expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';
import { sharedProbeKey } from './readiness.ts';
import { allWorkersMetrics, serveWorkerMetrics } from './worker-metrics.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-metrics-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function worker(index: number, requests: number): Registry {
  const { registry } = createMetrics({ workerIndex: index });
  const registers = [registry];
  new Counter({ name: 'requests_total', help: 'Requests.', labelNames: ['code'], registers }).inc(
    { code: 'a' },
    requests,
  );
  new Gauge({ name: 'in_flight', help: 'Now.', registers }).set(requests);
  return registry;
}

const onFault = (error: Error) => {
  throw error;
};

it('metrics of all processes are shown side by side, unchanged; a process that does not respond is left out', async () => {
  const sockets = [1, 2, 3].map((index) => join(folder, `metrics-${index}.sock`));
  // Left behind by a process that was killed.
  writeFileSync(String(sockets[0]), '');
  const servers = [
    await serveWorkerMetrics(worker(1, 20), String(sockets[0]), onFault),
    await serveWorkerMetrics(worker(2, 300), String(sockets[1]), onFault),
  ];
  const page = await allWorkersMetrics(worker(0, 1), sockets);
  for (const [index, requests] of [1, 20, 300].entries()) {
    expect(page).toContain(`requests_total{code="a",worker="${index}"} ${requests}\n`);
    expect(page).toContain(`in_flight{worker="${index}"} ${requests}\n`);
    expect(page).toMatch(new RegExp(`^process_start_time_seconds\\{worker="${index}"\\} \\d`, 'm'));
    expect(page).toMatch(new RegExp(`^nodejs_eventloop_lag_p99_seconds\\{worker="${index}"\\} \\d`, 'm'));
  }
  expect(page.match(/^# TYPE in_flight /gm)).toHaveLength(1);
  await Promise.all(servers.map((server) => server.close()));
  const alone = await allWorkersMetrics(worker(0, 1), sockets);
  expect(alone.match(/^requests_total/gm)).toHaveLength(1);
});

it('processes that start together share one probe key', async () => {
  const path = join(folder, 'probe-key');
  const keys = await Promise.all(Array.from({ length: 8 }, () => sharedProbeKey(path)));
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^sk-gw-[\w-]{32}$/);
});

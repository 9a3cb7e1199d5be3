import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Counter, Gauge, Registry } from 'prom-client';
import { afterAll, expect, it } from 'vitest';
import { sharedProbeKey } from './readiness.ts';
import { allWorkersMetrics, serveWorkerMetrics } from './worker-metrics.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-metrics-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function worker(requests: number): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'requests_total', help: 'Requests.', labelNames: ['code'], registers }).inc(
    { code: 'a' },
    requests,
  );
  new Gauge({ name: 'in_flight', help: 'Now.', registers }).set(requests);
  return registry;
}

it('metrics of all processes are added up; one that is away is left out', async () => {
  const sockets = [1, 2, 3].map((index) => join(folder, `metrics-${index}.sock`));
  // Left behind by a process that was killed.
  writeFileSync(String(sockets[0]), '');
  const servers = [
    await serveWorkerMetrics(worker(20), String(sockets[0])),
    await serveWorkerMetrics(worker(300), String(sockets[1])),
  ];
  const page = await allWorkersMetrics(worker(1), sockets);
  expect(page).toContain('requests_total{code="a"} 321');
  expect(page).toContain('in_flight 321');
  await Promise.all(servers.map((server) => server.close()));
  expect(await allWorkersMetrics(worker(1), sockets)).toContain('requests_total{code="a"} 1\n');
});

it('one process alone shows its own, with everything that cannot be added up', async () => {
  const registry = worker(5);
  expect(await allWorkersMetrics(registry, [])).toBe(await registry.metrics());
});

it('processes that start together share one probe key', async () => {
  const path = join(folder, 'probe-key');
  const keys = await Promise.all(Array.from({ length: 8 }, () => sharedProbeKey(path)));
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^sk-gw-[\w-]{32}$/);
});

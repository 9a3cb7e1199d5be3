import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { clustersPath } from '#ext-proc/envoy-config/bootstrap.ts';
import { ClusterPublisher } from '#ext-proc/envoy-config/publish.ts';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { activeClusters, call, clusterOf, configOf, PROVIDER_SECRET, until } from '../../harness/cluster-fixture.ts';
import { eachProvider } from '../../harness/each-provider.ts';
import { startEnvoy, temporaryPaths } from '../../harness/envoy-process.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { opened } from '../../harness/opened.ts';
import { streamAnswer } from '../../provider/acts.ts';
import { makeCertificate } from '../../provider/certificate.ts';
import { createGate } from '../../provider/gate.ts';

/**
 * The configuration's providers as clusters of a real Envoy: added, changed, removed and refused.
 */

const envoy = opened(startEnvoy);
let publisher: ClusterPublisher;
const provider = eachProvider();
const faults: string[] = [];

afterEach(async () => {
  publisher?.close();
  expect(faults.splice(0)).toEqual([]);
});
showLogsOnFailure(() => envoy && { logs: envoy.log });

function startPublisher(paths: RuntimePaths, drainMarginMs = 60_000): ClusterPublisher {
  publisher = new ClusterPublisher({
    paths,
    onFault: (fault) => faults.push(fault),
    confirmWithinMs: PATIENCE_MS,
    drainMarginMs,
  });
  return publisher;
}

describe('publishing', () => {
  test('every kind of provider URL becomes a cluster that Envoy accepts', async () => {
    const config = await configOf(envoy, {
      name: 'http://localhost:9/v1',
      name_tls: 'https://api.provider.invalid/v1',
      v4: 'http://127.0.0.1:9/v1',
      v4_tls: 'https://192.0.2.1:8443/v1',
      v6: 'http://[::1]:9/v1',
      v6_tls: 'https://[2001:db8::1]/v1',
      underscore: 'http://my_service:8000',
    });
    expect(await startPublisher(envoy.paths).publish(config)).toEqual({ ok: true, confirmed: true });
    expect(await activeClusters(envoy)).toEqual(
      [...config.providers.keys()].map((name) => clusterOf(config, name)).sort(),
    );
    expect(await readFile(clustersPath(envoy.paths), 'utf8')).not.toContain(PROVIDER_SECRET);
  });

  test('a changed provider gets a new cluster; the old one stays until its requests have ended, and none is cut', async () => {
    const gate = createGate();
    const [first, second] = [await provider(), await provider()];
    first.script('m', gate.before(streamAnswer({ paceMs: 100 })));
    const clusters = startPublisher(envoy.paths, 3_000);
    const before = await configOf(envoy, { p: first.baseUrl });
    expect(await clusters.publish(before)).toEqual({ ok: true, confirmed: true });
    const running = call(envoy, clusterOf(before, 'p'), 'p', true);
    await gate.waitFor(1);

    const after = await configOf(envoy, { p: second.baseUrl });
    expect(await clusters.publish(after)).toEqual({ ok: true, confirmed: true });
    expect(await activeClusters(envoy)).toEqual([clusterOf(before, 'p'), clusterOf(after, 'p')].sort());
    gate.open();
    expect((await call(envoy, clusterOf(after, 'p'), 'p')).status).toBe(200);
    expect((await running).text).toContain('[DONE]');

    await until(async () => (await activeClusters(envoy)).length === 1);
    expect(await activeClusters(envoy)).toEqual([clusterOf(after, 'p')]);
    expect(await call(envoy, clusterOf(before, 'p'), 'p')).toMatchObject({
      status: 503,
      headers: { 'x-gw-local': 'NC' },
    });
  });

  test('a change that is reverted keeps the cluster', async () => {
    const clusters = startPublisher(envoy.paths, 200);
    const a = await configOf(envoy, { p: 'http://127.0.0.1:9/v1' });
    const b = await configOf(envoy, { p: 'http://127.0.0.1:10/v1' });
    for (const config of [a, b, a]) await clusters.publish(config);
    await wait(600);
    expect(await activeClusters(envoy)).toEqual([clusterOf(a, 'p')]);
  });

  test('clusters that Envoy refuses are reported, and the file is restored', async () => {
    const clusters = startPublisher(envoy.paths);
    const good = await configOf(envoy, { p: 'http://127.0.0.1:9/v1' });
    await clusters.publish(good);
    const text = await readFile(clustersPath(envoy.paths), 'utf8');
    const ca = join(envoy.paths.dataDir, 'ca.pem');
    await writeFile(ca, makeCertificate().cert);
    const bad = await configOf(envoy, { p: 'https://127.0.0.1:9/v1', q: 'http://127.0.0.1:11/v1' }, ca);
    // Every bundle that is read is checked, so only a damaged copy makes Envoy refuse one.
    Object.assign(bad.providers.get('p') ?? {}, { trustedCa: { pem: 'refused', digest: 'refused' } });
    expect(await clusters.publish(bad)).toEqual({
      ok: false,
      reason: `Envoy refused the clusters (not loaded: ${clusterOf(bad, 'p')}); its log has the reason`,
      mayPass: false,
    });
    expect(await readFile(clustersPath(envoy.paths), 'utf8')).toBe(text);
    await until(async () => (await activeClusters(envoy)).length === 1);
    expect(await activeClusters(envoy)).toEqual([clusterOf(good, 'p')]);
    expect(await clusters.publish(await configOf(envoy, { p: 'http://127.0.0.1:12/v1' }))).toEqual({
      ok: true,
      confirmed: true,
    });
  });

  test('a configuration without providers is published', async () => {
    const clusters = startPublisher(envoy.paths, 0);
    expect(await clusters.publish(await configOf(envoy, {}))).toEqual({ ok: true, confirmed: true });
  });

  test('before Envoy runs, writing the file is enough', async () => {
    const paths = await temporaryPaths();
    const config = await configOf(envoy, { p: 'http://127.0.0.1:9/v1' });
    expect(await startPublisher(paths).publish(config)).toEqual({ ok: true, confirmed: false });
    const started = await startEnvoy({ paths });
    try {
      expect(await started.admin('/clusters')).toContain(clusterOf(config, 'p'));
    } finally {
      await started.stop();
      await rm(paths.dataDir, { recursive: true, force: true });
    }
  });
});

import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { createEnvoyStateReader } from '#ext-proc/envoy-config/envoy-admin.ts';
import { providerCluster } from '#ext-proc/envoy-config/provider-cluster.ts';
import { type EnvoyProcess, startEnvoy } from '../../harness/envoy-process.ts';

/** The state of Envoy and of ejected providers, read from a real admin interface. */
let provider: Server;
let envoy: EnvoyProcess;
let state: ReturnType<typeof createEnvoyStateReader>;

beforeAll(async () => {
  provider = createServer((_request, response) => response.writeHead(503).end());
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const { port } = provider.address() as AddressInfo;
  const elsewhere = providerCluster('failing', { baseUrl: new URL('http://192.0.2.1:80') });
  const here = providerCluster('fine', { baseUrl: new URL(`http://127.0.0.1:${port}`) });
  // Providers on the loopback are never ejected, so this one has the rules of a distant provider.
  const failing = {
    ...here,
    ...elsewhere,
    load_assignment: { ...(here.load_assignment as object), cluster_name: 'failing' },
  };
  envoy = await startEnvoy({ clusters: [failing, here] });
  state = createEnvoyStateReader(envoy.paths.envoyAdminSocket, systemClock);
});
afterAll(async () => {
  await envoy?.stop();
  provider?.close();
});

function call(cluster: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { host: 'provider.example', 'x-gw-cluster': cluster };
    const outgoing = request({ socketPath: envoy.paths.egressSocket, path: '/', headers }, (response) => {
      response.resume().on('end', resolve).on('error', reject);
    });
    outgoing.on('error', reject).end();
  });
}

test('the state has the version of Envoy, and the provider that failed twenty times in a row', async () => {
  expect(await state()).toEqual({
    version: '1.39.3',
    state: 'LIVE',
    uptimeMs: expect.any(Number),
    ejected: new Set(),
    serversOut: new Map(),
  });
  for (let failures = 0; failures < 20; failures++) await Promise.all([call('failing'), call('fine')]);
  await expect.poll(async () => (await state())?.ejected).toEqual(new Set(['failing']));
  const out = [expect.stringMatching(/^127\.0\.0\.1:\d+ \(ejected\)$/)];
  expect((await state())?.serversOut).toEqual(new Map([['failing', out]]));
});

test('the state is undefined without an admin interface', async () => {
  expect(await createEnvoyStateReader(`${envoy.paths.envoyAdminSocket}.absent`, systemClock)()).toBeUndefined();
});

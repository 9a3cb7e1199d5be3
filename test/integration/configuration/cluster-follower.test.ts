import { readFile, stat } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { clustersPath } from '#ext-proc/envoy-config/bootstrap.ts';
import { ClusterPublisher } from '#ext-proc/envoy-config/publish.ts';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { activeClusters, clusterOf, configOf } from '../../harness/cluster-fixture.ts';
import { startEnvoy, temporaryPaths } from '../../harness/envoy-process.ts';
import { opened } from '../../harness/opened.ts';

/**
 * One of several gateway processes writes Envoy's clusters. The others switch to a new
 * configuration when Envoy has its clusters.
 */
const envoy = opened(startEnvoy);
let leader: ClusterPublisher;
let follower: ClusterPublisher;

afterEach(() => {
  leader.close();
  follower.close();
});

function start(confirmWithinMs: number): void {
  const options = { paths: envoy.paths, onFault: () => {}, confirmWithinMs };
  leader = new ClusterPublisher(options);
  follower = new ClusterPublisher({ ...options, follows: true });
}

test('a follower waits for the leader, and writes nothing', async () => {
  start(PATIENCE_MS);
  const config = await configOf(envoy, { awaited: 'http://127.0.0.1:9/v1' });
  let followed = false;
  const following = follower.publish(config).finally(() => {
    followed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect({ followed, active: await activeClusters(envoy) }).toEqual({ followed: false, active: [] });
  expect(await leader.publish(config)).toEqual({ ok: true, confirmed: true });
  const written = await stat(clustersPath(envoy.paths));
  expect(await following).toEqual({ ok: true, confirmed: true });
  expect(await activeClusters(envoy)).toContain(clusterOf(config, 'awaited'));
  expect((await stat(clustersPath(envoy.paths))).mtimeMs).toBe(written.mtimeMs);
});

test('a follower keeps its configuration when nobody writes the clusters of the next one', async () => {
  start(300);
  const before = await readFile(clustersPath(envoy.paths), 'utf8');
  const config = await configOf(envoy, { never: 'http://127.0.0.1:9/v1' });
  expect(await follower.publish(config)).toEqual({
    ok: false,
    reason: expect.stringContaining(clusterOf(config, 'never')),
    mayPass: true,
  });
  expect(await readFile(clustersPath(envoy.paths), 'utf8')).toBe(before);
});

test('a follower that starts before Envoy does not wait for it', async () => {
  start(300);
  const paths = await temporaryPaths();
  const config = await configOf(envoy, { early: 'http://127.0.0.1:9/v1' });
  const early = new ClusterPublisher({ paths, follows: true, onFault: () => {} });
  expect(await early.publish(config)).toEqual({ ok: true, confirmed: false });
  early.close();
});

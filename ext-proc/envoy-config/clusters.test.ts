import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { loadConfig } from '#core/config/load.ts';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { clusterFile, clustersOf } from './clusters.ts';
import { ClusterPublisher } from './publish.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-clusters-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const ENTRY = { context_window: 9, max_output_tokens: 9, usd_per_million_tokens: { input: 1, output: 1 } };

/** Providers by name and port; each model is served by the providers that its name is made of. */
async function configOf(
  providers: Readonly<Record<string, number>>,
  models: readonly string[],
): Promise<GatewayConfig> {
  const path = join(folder, 'gateway.yaml');
  const file = {
    providers: Object.fromEntries(
      Object.entries(providers).map(([name, port]) => [
        name,
        { base_url: `http://127.0.0.1:${port}/v1`, api_key: 'hush-hush' },
      ]),
    ),
    models: Object.fromEntries(
      models.map((id) => [id, { ...ENTRY, targets: [...id].map((provider) => ({ provider, model: 'm' })) }]),
    ),
  };
  await writeFile(path, JSON.stringify(file));
  const result = await loadConfig(path, {});
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

function textFor(config: GatewayConfig): string {
  return clusterFile(clustersOf(config, '/envoy')).text;
}

function namesIn(text: string): string[] {
  const { resources }: { resources: { name: string }[] } = JSON.parse(text);
  return resources.map(({ name }) => name.replace(/-[0-9a-f]{12}$/, ''));
}

describe('the cluster file', () => {
  test('has one cluster for each provider that a model uses, and no secret', async () => {
    const text = textFor(await configOf({ a: 1, b: 2, c: 3 }, ['ca', 'a']));
    expect(namesIn(text)).toEqual(['a', 'c']);
    expect(text).not.toContain('hush');
  });

  test('is the same text for the same providers, in any order', async () => {
    const text = textFor(await configOf({ a: 1, b: 2 }, ['ab']));
    expect(textFor(await configOf({ b: 2, a: 1 }, ['b', 'ba']))).toBe(text);
    expect(textFor(await configOf({ a: 1, b: 3 }, ['ab']))).not.toBe(text);
  });
});

describe('the publisher', () => {
  test('leaves nothing behind but the file', async () => {
    const paths = runtimePaths({ GATEWAY_DATA: folder });
    const publisher = new ClusterPublisher({ paths, onFault: () => {} });
    const config = await configOf({ a: 1 }, ['a']);
    expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: false });
    expect(await readdir(paths.envoyDir)).toEqual(['clusters.json']);
    expect(await readFile(join(paths.envoyDir, 'clusters.json'), 'utf8')).toBe(textFor(config));
    publisher.close();
  });

  test('keeps the clusters of the configuration before', async () => {
    const paths = runtimePaths({ GATEWAY_DATA: folder });
    const publisher = new ClusterPublisher({ paths, onFault: () => {} });
    await publisher.publish(await configOf({ a: 1 }, ['a']));
    await publisher.publish(await configOf({ b: 1 }, ['b']));
    expect(namesIn(await readFile(join(paths.envoyDir, 'clusters.json'), 'utf8'))).toEqual(['a', 'b']);
    publisher.close();
  });

  test('reports why the file cannot be written', async () => {
    const config = await configOf({ a: 1 }, ['a']);
    await writeFile(join(folder, 'data'), 'a file where the folder should be');
    const paths = runtimePaths({ GATEWAY_DATA: join(folder, 'data') });
    const result = await new ClusterPublisher({ paths, onFault: () => {} }).publish(config);
    expect(result).toMatchObject({ ok: false, reason: expect.stringContaining('cannot be written') });
  });
});

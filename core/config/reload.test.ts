// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeCertificate } from '#test/provider/certificate.ts';
import type { GatewayConfig } from './gateway-config.ts';
import { loadConfig } from './load.ts';
import { type ConfigWatch, type ReloadNotes, type WatchOptions, watchConfig } from './reload.ts';

let folder: string;
let watch: ConfigWatch<GatewayConfig> | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-reload-'));
});

afterEach(async () => {
  vi.useRealTimers();
  watch?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Seen {
  readonly applied: GatewayConfig[];
  readonly changes: { readonly config: GatewayConfig; readonly notes: ReloadNotes }[];
  readonly problems: string[];
}

/** Only real events unless `pollMs` is given: an hour is longer than any test. */
async function follow(
  path: string,
  options: Partial<WatchOptions<GatewayConfig>> = {},
): Promise<{ watch: ConfigWatch<GatewayConfig>; seen: Seen }> {
  const initial = await loadConfig(path, {});
  if (!initial.ok) throw new Error('the first file is bad');
  const seen: Seen = { applied: [], changes: [], problems: [] };
  const look = Promise.withResolvers<void>();
  const started = watchConfig({
    path,
    load: () => loadConfig(path, {}),
    initial,
    apply: async (next) => {
      seen.applied.push(next);
      return { ok: true };
    },
    onProblems: (problems) => seen.problems.push(...problems.map(({ line = '-', message }) => `${line}: ${message}`)),
    onChange: (config, notes) => seen.changes.push({ config, notes }),
    onLook: async () => look.resolve(),
    pollMs: 3_600_000,
    ...options,
  });
  watch = started;
  // The watch reads the file once more when it is set up; what follows are changes.
  await look.promise;
  await wait(50);
  return { watch: started, seen };
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 10, timeout: 20_000 }).toBe(true);
}

const readRpm = (value: number) => `limits: {read_rpm: ${value}}\n`;

async function put(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function replace(name: string, text: string): Promise<void> {
  await rename(await put(`${name}.new`, text), join(folder, name));
}

describe('a change is noticed', () => {
  test('when the file is replaced by rename, again and again', async () => {
    const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)));
    for (const value of [2, 3, 4]) {
      await replace('gateway.yaml', readRpm(value));
      await until(() => watch.current().limits.readRequestsPerMinute === value);
    }
    expect(seen.problems).toEqual([]);
    expect(seen.changes.map(({ config }) => config.limits.readRequestsPerMinute)).toEqual([2, 3, 4]);
  });

  test('when it is edited in place, in steps, and only the last step counts', async () => {
    const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)));
    // Reloads take turns: the first look has ended after this one, however slow it was.
    await watch.reload();
    // How long it is quiet is up to the test: a process that stood still between two steps would
    // rightly take the first for the last.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    for (const value of [2, 3, 4, 5]) {
      await put('gateway.yaml', readRpm(value));
      await wait(10);
      vi.advanceTimersByTime(20);
    }
    await until(() => {
      vi.advanceTimersByTime(100);
      return watch.current().limits.readRequestsPerMinute === 5;
    });
    expect(seen.changes.map(({ config }) => config.limits.readRequestsPerMinute)).toEqual([1, 5]);
  });

  test('when Kubernetes swaps the link that the file is reached through', async () => {
    await mkdir(join(folder, '..v1'));
    await mkdir(join(folder, '..v2'));
    await put('..v1/gateway.yaml', readRpm(1));
    await put('..v2/gateway.yaml', readRpm(2));
    await symlink('..v1', join(folder, '..data'));
    await symlink('..data/gateway.yaml', join(folder, 'gateway.yaml'));
    const { watch } = await follow(join(folder, 'gateway.yaml'));
    await symlink('..v2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await until(() => watch.current().limits.readRequestsPerMinute === 2);
  });

  test('when a secret changes, appears or goes, in its own folder', async () => {
    await mkdir(join(folder, 'secrets'));
    const path = await put(
      'gateway.yaml',
      `providers: {p: {base_url: "http://127.0.0.1:9", api_key: "\${file:secrets/p}"}}
models: {m: {context_window: 10, max_output_tokens: 5, usd_per_million_tokens: {input: 1, output: 1}, targets: [{provider: p, model: x}]}}\n`,
    );
    const { watch, seen } = await follow(path);
    expect(watch.current().models.get('m')?.problem).toContain('secrets/p');
    expect(Object.keys(watch.declared().models)).toEqual(['m']);
    await replace('secrets/p', 'first\n');
    await until(() => watch.current().providers.get('p')?.apiKey === 'first');
    expect(watch.current().models.get('m')).not.toHaveProperty('problem');
    await put('secrets/p', 'second\n');
    await until(() => watch.current().providers.get('p')?.apiKey === 'second');
    await rm(join(folder, 'secrets/p'));
    await until(() => watch.current().models.get('m')?.problem !== undefined);
    await replace('gateway.yaml', 'models: {}\n');
    await until(() => Object.keys(watch.declared().models).length === 0);
    expect(seen.problems).toEqual([]);
    expect(seen.changes.at(-1)?.notes.warnings).toHaveLength(1);
  });

  test('when the certificate is replaced: a pair that does not match is reported until it does', async () => {
    const [first, second] = [makeCertificate(), makeCertificate()];
    await put('a.crt', first.cert);
    await put('a.key', first.key);
    const path = await put('gateway.yaml', 'listen: {tls: {certificate: a.crt, private_key: a.key}}\n');
    const { seen } = await follow(path);
    await replace('a.key', second.key);
    await until(() => seen.problems.length > 0);
    expect(seen.problems).toEqual(['1: listen.tls.private_key: does not belong to the certificate']);
    await replace('a.crt', second.cert);
    await until(() => seen.changes.length > 0);
    expect(seen.problems).toHaveLength(1);
  });

  test('when a long chain of certificates is replaced by another', async () => {
    const [first, second] = [makeCertificate(), makeCertificate()];
    const chain = `${'x'.repeat(70_000)}\n`;
    await put('a.crt', first.cert + chain);
    await put('a.key', first.key);
    const path = await put('gateway.yaml', 'listen: {tls: {certificate: a.crt, private_key: a.key}}\n');
    const { seen } = await follow(path);
    await replace('a.crt', second.cert + chain);
    await until(() => seen.problems.length > 0);
    expect(seen.problems).toEqual(['1: listen.tls.private_key: does not belong to the certificate']);
  });

  test('by polling, if no event reports it', async () => {
    await mkdir(join(folder, 'v1'));
    await mkdir(join(folder, 'v2'));
    await put('v1/gateway.yaml', readRpm(1));
    await put('v2/gateway.yaml', readRpm(2));
    await symlink('v1', join(folder, 'mounted'));
    const { watch } = await follow(join(folder, 'mounted/gateway.yaml'), { pollMs: 100 });
    await symlink('v2', join(folder, 'other'));
    await rename(join(folder, 'other'), join(folder, 'mounted'));
    await until(() => watch.current().limits.readRequestsPerMinute === 2);
  });

  test('between the first reading and the watch', async () => {
    const path = await put('gateway.yaml', readRpm(1));
    const initial = await loadConfig(path, {});
    if (!initial.ok) throw new Error('the first file is bad');
    await put('gateway.yaml', readRpm(2));
    const changed = Promise.withResolvers<GatewayConfig>();
    watch = watchConfig({
      path,
      load: () => loadConfig(path, {}),
      initial,
      apply: async () => ({ ok: true }),
      onProblems: () => {},
      onChange: changed.resolve,
      pollMs: 3_600_000,
    });
    expect((await changed.promise).limits.readRequestsPerMinute).toBe(2);
  });
});

describe('the old configuration stays in force', () => {
  test('when the new one is refused, until it is repaired', async () => {
    const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)));
    const before = watch.current();
    await replace('gateway.yaml', 'limits: {read_rpm: 0}\n');
    await until(() => seen.problems.length > 0);
    expect(seen.problems).toEqual(['1: limits.read_rpm: must be a whole number from 1 to 1000000']);
    expect(watch.current()).toBe(before);
    expect(seen.applied).toEqual([]);
    await replace('gateway.yaml', readRpm(3));
    await until(() => watch.current().limits.readRequestsPerMinute === 3);
    expect(seen.problems).toHaveLength(1);
  });

  test('when Envoy refuses it; the next attempt is made by reload', async () => {
    let reason: string | undefined = 'Envoy refused the clusters';
    const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)), {
      apply: async () => (reason === undefined ? { ok: true } : { ok: false, reason, mayPass: false }),
      firstRetryMs: 1,
    });
    await replace('gateway.yaml', readRpm(2));
    await until(() => seen.problems.length > 0);
    expect(seen.problems).toEqual(['-: Envoy refused the clusters']);
    expect(watch.current().limits.readRequestsPerMinute).toBe(1);
    reason = undefined;
    await watch.reload();
    expect(watch.current().limits.readRequestsPerMinute).toBe(2);
    expect(seen.problems).toHaveLength(1);
  });

  test('while the disk is full, and changes by itself afterwards, to the latest file', async () => {
    let full = true;
    const reason = 'clusters.json cannot be written';
    const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)), {
      apply: async () => (full ? { ok: false, reason, mayPass: true } : { ok: true }),
      firstRetryMs: 1,
    });
    await replace('gateway.yaml', readRpm(2));
    await until(() => seen.problems.length > 2);
    await replace('gateway.yaml', readRpm(3));
    await until(() => seen.problems.length > 4);
    expect(new Set(seen.problems)).toEqual(new Set([`-: ${reason}`]));
    expect(watch.current().limits.readRequestsPerMinute).toBe(1);
    full = false;
    await until(() => seen.changes.length > 0);
    expect(watch.current().limits.readRequestsPerMinute).toBe(3);
    const told = seen.problems.length;
    await wait(100);
    expect([seen.changes.length, seen.problems.length]).toEqual([1, told]);
  });

  test('while Envoy loads the clusters', async () => {
    const loading = Promise.withResolvers<{ ok: true }>();
    const apply = vi.fn(() => loading.promise);
    const { watch } = await follow(await put('gateway.yaml', readRpm(1)), { apply });
    await replace('gateway.yaml', readRpm(2));
    await until(() => apply.mock.calls.length > 0);
    expect(watch.current().limits.readRequestsPerMinute).toBe(1);
    loading.resolve({ ok: true });
    await until(() => watch.current().limits.readRequestsPerMinute === 2);
  });

  test('for fields that need a restart, which are reported by name and not by value', async () => {
    const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)));
    const { listen, stores, workers } = watch.current();
    const proxies = 'trusted_proxies: [10.0.0.1]\n';
    const others = 'workers: 2\nlisten: {api: "127.0.0.1:81"}\nstores: {redis: "redis://:hush@x:1"}\n';
    await replace('gateway.yaml', `${readRpm(2)}${others}${proxies}`);
    await until(() => seen.changes.length > 0);
    expect(watch.current()).toMatchObject({ listen, stores, workers, trustedProxies: ['10.0.0.1'] });
    expect(watch.current().limits.readRequestsPerMinute).toBe(2);
    expect(seen.changes[0]?.notes.restartNeeded).toEqual(['listen', 'stores', 'workers', 'trusted_proxies']);
    // Bounds per address are those of the start, whatever proxies are in force.
    await replace('gateway.yaml', `${readRpm(3)}${proxies}`);
    await until(() => seen.changes.length > 1);
    expect(seen.changes[1]?.notes.restartNeeded).toEqual(['trusted_proxies']);
    const unbound = 'listen: {address_connections: 0, address_requests: 0, address_rps: 0}\n';
    const other = await follow(await put('gateway.yaml', `${readRpm(1)}${unbound}`));
    await replace('gateway.yaml', `${readRpm(2)}${unbound}${proxies}`);
    await until(() => other.seen.changes.length > 0);
    expect(other.seen.changes[0]?.notes.restartNeeded).toEqual([]);
  });
});

test('a touched file with the same content is not read again, except by reload', async () => {
  const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)));
  await replace('gateway.yaml', readRpm(1));
  await put('something-else', 'x');
  await wait(300);
  expect(seen.applied).toEqual([]);
  await watch.reload();
  expect(seen.applied).toHaveLength(1);
});

test('nothing is reported after close', async () => {
  const { watch, seen } = await follow(await put('gateway.yaml', readRpm(1)), { pollMs: 20 });
  watch.close();
  await replace('gateway.yaml', readRpm(2));
  await wait(300);
  expect([seen.changes, seen.problems]).toEqual([[], []]);
});

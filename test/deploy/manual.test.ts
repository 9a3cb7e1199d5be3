import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '#core/config/load.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { fromManual } from './cluster.ts';
import { renderKustomization } from './kustomize.ts';
import { missingValidator, validated } from './validate.ts';

/** Blocks of docs/kubernetes.md that are beside the manifests. */
const BASE = join(REPOSITORY, 'deploy/kubernetes/base');

interface Ingress {
  readonly metadata: { readonly namespace: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly rules: readonly [{ readonly http: { readonly paths: readonly [{ backend: Backend }] } }] };
}
interface Backend {
  readonly service: { readonly name: string; readonly port: { readonly number: number } };
}

test('the Ingress leads to the Service, and leaves refusals and time-outs to the gateway', async () => {
  const ingress = parse(fromManual('Ingress', 'yaml')) as Ingress;
  const { metadata, spec } = ingress;
  const { service } = spec.rules[0].http.paths[0].backend;
  const target = renderKustomization(BASE).find((one) => one.kind === 'Service' && one.metadata.name === service.name);
  expect(target?.metadata.namespace).toBe(metadata.namespace);
  expect(target?.spec).toMatchObject({ ports: [{ port: service.port.number }] });
  const folder = mkdtempSync(join(tmpdir(), 'gw-ingress-'));
  const path = join(folder, 'gateway.yaml');
  const example = readFileSync(join(BASE, 'config/gateway.yaml'), 'utf8').replace(/^trusted_proxies: .*$/m, '');
  writeFileSync(path, example + fromManual('Ingress', 'yaml', 1));
  const loaded = await loadConfig(path, { DATABASE_URL: 'postgres://h/d', REDIS_URL: 'redis://h' });
  rmSync(folder, { recursive: true });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'));
  const { timeouts, limits } = loaded.config;
  const annotation = (name: string) =>
    Number.parseInt(metadata.annotations[`nginx.ingress.kubernetes.io/${name}`] ?? '', 10);
  expect(annotation('proxy-read-timeout') * 1000).toBeGreaterThan(timeouts.totalMs);
  expect(annotation('proxy-send-timeout') * 1000).toBeGreaterThan(timeouts.totalMs);
  expect(annotation('proxy-body-size') * 2 ** 20).toBeGreaterThan(limits.requestBodyBytes);
  if (missingValidator() === undefined) expect(validated([ingress])).toEqual([expect.stringMatching(/^INFO/)]);
});

test('rules and alerts are objects of the Prometheus operator', () => {
  const script = `kubectl() { cat; }\n${fromManual('Network', 'sh')}`;
  const { stdout } = spawnSync('bash', ['-euc', script], { cwd: REPOSITORY, encoding: 'utf8' });
  const made = [...parseAllDocuments(stdout)].map((document) => document.toJS()).filter((rules) => rules !== null);
  const groupsOf = (name: string) => parse(readFileSync(join(REPOSITORY, `deploy/observability/${name}.yaml`), 'utf8'));
  expect(made).toMatchObject([
    { kind: 'PrometheusRule', metadata: { name: 'gateway-recording-rules' }, spec: groupsOf('recording-rules') },
    { kind: 'PrometheusRule', metadata: { name: 'gateway-alerts' }, spec: groupsOf('alerts') },
  ]);
});

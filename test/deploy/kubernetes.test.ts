import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ENDING_MS } from '#core/config/drain-timeout.ts';
import { loadConfig } from '#core/config/load.ts';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { checkpointKeyPath } from '#database/checkpoints/checkpoint-key.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { requirement } from '../harness/requirement.ts';
import { type Labels, type Manifest, renderKustomization } from './kustomize.ts';
import { type Container, containersOf, podsOf } from './pods.ts';
import { missingValidator, validated } from './validate.ts';

/** The manifests of `kubectl apply -k deploy/kubernetes`, and the optional folders. */
const FOLDER = join(REPOSITORY, 'deploy/kubernetes');
const base = renderKustomization(FOLDER);
const optional = ['autoscaling-in-flight', 'service-monitor', 'dashboard-internet'].flatMap((name) =>
  renderKustomization(join(FOLDER, name)),
);
const everything = [...base, ...optional];
const pods = podsOf(base);
/** Created by the operator (docs/kubernetes.md), not by the manifests. */
const STORES = ['dashboard-store', 'gateway-stores', 'operator-store', 'owner-store'];
const SECRETS = [...STORES, 'dashboard-secrets', 'provider-keys'];
const ENVOY_ENDS_S = 10;

const ofKind = (kind: string) => base.filter((manifest) => manifest.kind === kind);
function one(kind: string, name: string): Manifest {
  const found = base.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}
const matches = (labels: Labels, selector: Labels) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

describe('the manifests', () => {
  requirement(missingValidator(), () => {
    // The oldest version with all the features that they use, and the newest version with a schema
    // here.
    test.each(['1.30', '1.37'])('are valid for Kubernetes %s, without unknown fields', (version) => {
      // The ServiceMonitor belongs to the Prometheus operator and has no schema here.
      const known = everything.filter(({ kind }) => kind !== 'ServiceMonitor');
      expect(validated(known, version)).toEqual(known.map(() => expect.stringMatching(/^INFO/)));
    });

    test('would be reported if they were invalid', () => {
      const wrong = { ...one('Service', 'gateway'), specs: {} };
      expect(validated([wrong]).join()).toContain("'specs' was unexpected");
    });
  });

  test('are in one namespace, with unique names', () => {
    const names = base.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const elsewhere = base.filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace === undefined);
    expect(elsewhere).toEqual([]);
    expect(new Set(everything.map(({ metadata }) => metadata.namespace ?? metadata.name))).toEqual(
      new Set(['inference-gateway']),
    );
  });

  test('select pods that exist', () => {
    const selectors = everything.flatMap((manifest) => selectorsOf(manifest));
    expect(selectors.length).toBeGreaterThan(8);
    const lost = selectors.filter(({ selector }) => !pods.some(({ labels }) => matches(labels, selector)));
    expect(lost).toEqual([]);
  });

  test('name ports, ConfigMaps, Secrets and a claim that exist', () => {
    for (const service of ofKind('Service')) {
      const { selector, ports } = service.spec as { selector: Labels; ports: { targetPort: number }[] };
      const open = pods.filter(({ labels }) => matches(labels, selector)).flatMap(portsOf);
      expect(open, service.metadata.name).toEqual(expect.arrayContaining(ports.map(({ targetPort }) => targetPort)));
    }
    for (const { name, spec } of pods) {
      const volumes = (spec.volumes ?? []).map((volume) => volume.name);
      const claims = name === 'gateway' ? ['spool'] : [];
      const mounted = containersOf(spec).flatMap(({ volumeMounts = [] }) => volumeMounts.map((mount) => mount.name));
      expect([...volumes, ...claims]).toEqual(expect.arrayContaining(mounted));
      for (const { configMap, secret } of spec.volumes ?? []) {
        if (configMap) expect(one('ConfigMap', configMap.name)).toBeDefined();
        if (secret) expect(SECRETS).toContain(secret.secretName);
      }
      const fromSecrets = containersOf(spec).flatMap(({ env = [] }) => env.map((entry) => entry.valueFrom));
      for (const source of fromSecrets) if (source) expect(SECRETS).toContain(source.secretKeyRef.name);
    }
    expect(ofKind('Secret')).toEqual([]);
    // Each process has its own database user.
    const stores = pods.map(({ spec }) =>
      containersOf(spec).flatMap(({ env = [] }) => env.filter(({ name }) => name === 'DATABASE_URL')),
    );
    expect(stores.map((uses) => uses.map(({ valueFrom }) => valueFrom?.secretKeyRef.name).join()).sort()).toEqual(
      STORES,
    );
    const manual = readFileSync(join(REPOSITORY, 'docs/kubernetes.md'), 'utf8');
    for (const name of SECRETS) expect(manual).toContain(`create secret generic ${name}`);
  });
});

describe('every container', () => {
  const all = pods.flatMap(({ name, spec }) => containersOf(spec).map((container) => ({ pod: name, spec, container })));

  test('runs as an unprivileged user, with a read-only image and without escalation', () => {
    expect(all.length).toBeGreaterThan(3);
    for (const { spec, container } of all) {
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(spec.automountServiceAccountToken).toBe(false);
    }
  });

  test('requests CPU and memory, has a memory limit, and names a version of its image', () => {
    for (const { container } of all) {
      const { requests, limits } = container.resources;
      expect([requests.cpu, requests.memory, limits.memory].every((value) => value !== undefined)).toBe(true);
      expect(container.image).toMatch(/:v?\d+\.\d+\.\d+$/);
    }
  });

  test('has a liveness probe if it is a service', () => {
    const services = all.filter(({ pod }) => pod !== 'migrate' && pod !== 'operator');
    for (const { container } of services) expect(container.livenessProbe).toBeDefined();
  });
});

describe('the pod of gateway and Envoy', () => {
  const { spec } = pods.find(({ name }) => name === 'gateway') ?? { spec: undefined };
  const find = (name: string): Container => {
    const found = spec && containersOf(spec).find((container) => container.name === name);
    if (!found) throw new Error(`there is no container ${name}`);
    return found;
  };
  const gateway = () => find('gateway');
  const envoy = () => find('envoy');
  const variable = (name: string) => Number(gateway().env?.find((entry) => entry.name === name)?.value);
  const preStopS = () => Number(gateway().lifecycle?.preStop.exec.command[1]);

  test('has time for the longest request when it ends', async () => {
    const { totalMs } = (await configuration()).timeouts;
    expect(variable('DRAIN_TIMEOUT_MS')).toBeGreaterThanOrEqual(totalMs + 10_000);
    const needsS = preStopS() + variable('DRAIN_TIMEOUT_MS') / 1000;
    expect(spec?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needsS + ENDING_MS / 1000 + ENVOY_ENDS_S);
  });

  test('accepts connections for as long as load balancers may open some, and ends Envoy last', () => {
    const { args = [] } = envoy();
    expect(Number(args[args.indexOf('--drain-time-s') + 1])).toBe(preStopS());
    expect(envoy().restartPolicy).toBe('Always');
    expect(spec?.initContainers?.map(({ name }) => name)).toEqual(['envoy']);
    expect(JSON.stringify(envoy().lifecycle?.preStop)).toContain('/data/run/envoy-ends');
  });

  test('runs the same Envoy release as docker-compose.yml', () => {
    const compose = readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8');
    expect(compose).toContain(`{ENVOY_IMAGE:-${envoy().image}}`);
  });

  test('keeps only the charge log for its successor', () => {
    const claims = one('StatefulSet', 'gateway').spec as {
      volumeClaimTemplates: { metadata: { name: string }; spec: { accessModes: string[] } }[];
      persistentVolumeClaimRetentionPolicy: Labels;
    };
    expect(claims.persistentVolumeClaimRetentionPolicy).toEqual({ whenDeleted: 'Retain', whenScaled: 'Retain' });
    const modes = claims.volumeClaimTemplates.map(({ metadata, spec: { accessModes } }) => [
      metadata.name,
      accessModes,
    ]);
    expect(modes).toEqual([['spool', ['ReadWriteOncePod']]]);
    expect(gateway().volumeMounts).toContainEqual({ name: 'spool', mountPath: '/data/spool' });
    // With a new key at each replacement the checkpoints of former pods would be unknown.
    expect(checkpointKeyPath(runtimePaths({ GATEWAY_DATA: '/data' }))).toMatch(/^\/data\/spool\//);
    expect(envoy().volumeMounts).toEqual([{ name: 'shared', mountPath: '/data' }]);
  });

  test('admits the ingress controller, and the monitoring namespace to its metrics, and exposes no admin port of Envoy', () => {
    const open = (app: string) => {
      const { ingress } = one('NetworkPolicy', app).spec as {
        ingress: { from?: { namespaceSelector: { matchLabels: Labels } }[]; ports: { port: number }[] }[];
      };
      return ingress.map(({ from, ports }) => [ports.map(({ port }) => port), from]);
    };
    const from = (name: string) => [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }];
    expect(open('gateway')).toEqual([
      [[8080], from('ingress-nginx')],
      [[8080], [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'dashboard' } } }]],
      [[9464], from('monitoring')],
    ]);
    expect(open('dashboard')).toEqual([[[8081], from('ingress-nginx')]]);
    expect(one('NetworkPolicy', 'default-deny').spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
    expect(pods.filter(({ name }) => name === 'gateway').flatMap(portsOf)).toEqual([9464, 8080]);
  });

  test('lets the dashboard reach the Internet only on request, and never private or metadata addresses', () => {
    const ports = (manifest: Manifest) =>
      (manifest.spec as { egress: { ports: { port: number }[] }[] }).egress.map((rule) =>
        rule.ports.map(({ port }) => port),
      );
    expect(ports(one('NetworkPolicy', 'dashboard'))).toEqual([[8080], [5432]]);
    const [policy] = renderKustomization(join(FOLDER, 'dashboard-internet'));
    if (policy === undefined) throw new Error('there is no policy');
    expect(ports(policy)).toEqual([[443, 465, 587]]);
    const { egress } = policy.spec as { egress: { to: { ipBlock: { except: string[] } }[] }[] };
    expect(egress[0]?.to[0]?.ipBlock.except).toEqual(
      expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16']),
    );
    expect(egress[0]?.to[1]?.ipBlock.except).toEqual(expect.arrayContaining(['fc00::/7', 'fe80::/10']));
  });

  test('counts 100.64.0.0/10, in which many clusters have pods and stores, as private', () => {
    const policies = everything.filter(({ kind }) => kind === 'NetworkPolicy');
    const rules = policies.flatMap(({ spec }) => (spec as { egress?: { to: object[] }[] }).egress ?? []);
    const blocks = rules.map(({ to }) => JSON.stringify(to)).filter((text) => text.includes('10.0.0.0/8'));
    expect(blocks.length).toBeGreaterThan(4);
    for (const text of blocks) expect(text).toContain('100.64.0.0/10');
  });

  test('looks providers up under their full names first', () => {
    expect(spec?.dnsConfig).toEqual({ options: [{ name: 'ndots', value: '2' }] });
  });

  test('scales by cores of the one thread, whatever is requested', () => {
    const scalers = everything.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    const target = { type: 'AverageValue', averageValue: '600m' };
    const cpu = { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'gateway', target } };
    expect(scalers).toHaveLength(2);
    for (const { spec: of } of scalers) expect((of as { metrics: object[] }).metrics).toContainEqual(cpu);
  });

  test('has a configuration that is valid except for the missing secret', async () => {
    const config = await configuration();
    expect([config.listen.api.port, config.listen.metrics.port, config.listen.dashboard.port]).toEqual([
      8080, 9464, 8081,
    ]);
    const problems = [...config.models.values()].map(({ problem }) => problem);
    expect(problems).toEqual([expect.stringContaining('/secrets/providers/openai')]);
  });
});

async function configuration() {
  const { data } = one('ConfigMap', 'gateway-config') as unknown as { data: Labels };
  const folder = mkdtempSync(join(tmpdir(), 'gw-k8s-'));
  try {
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, data['gateway.yaml'] ?? '');
    const loaded = await loadConfig(path, { DATABASE_URL: 'postgres://h/d', REDIS_URL: 'redis://h' });
    if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'));
    return loaded.config;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function portsOf({ spec }: (typeof pods)[number]): number[] {
  return containersOf(spec).flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort));
}

/**
 * Selectors of Services, budgets, policies and spread constraints. An empty one selects every pod,
 * which is not permitted for a Service.
 */
function selectorsOf({ kind, metadata, spec }: Manifest): { name: string; selector: Labels }[] {
  const found = spec as { selector?: Labels & { matchLabels?: Labels }; podSelector?: { matchLabels?: Labels } };
  const of = (selector: Labels | undefined) => (selector ? [{ name: `${kind} ${metadata.name}`, selector }] : []);
  if (kind === 'Service') return of(found.selector);
  if (kind === 'NetworkPolicy') return of(found.podSelector?.matchLabels);
  if (kind === 'PodDisruptionBudget' || kind === 'StatefulSet' || kind === 'Deployment') {
    return of(found.selector?.matchLabels);
  }
  return [];
}

test('the chart has the versions of the package', () => {
  const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
  const folder = join(REPOSITORY, 'deploy/helm');
  const chart = readFileSync(join(folder, 'Chart.yaml'), 'utf8');
  expect(chart).toContain(`\nversion: ${version}\nappVersion: ${version}\n`);
  expect(readFileSync(join(folder, 'values.yaml'), 'utf8')).toContain(`\nimage: inference-gateway:${version}\n`);
});

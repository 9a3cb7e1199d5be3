import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { loadConfig } from '#core/config/load.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { requirement } from '../harness/requirement.ts';
import { fromManual } from './cluster.ts';
import { type Manifest, renderKustomization } from './kustomize.ts';
import { containersOf, podsOf } from './pods.ts';
import { missingValidator, validated } from './validate.ts';

/** deploy/helm renders the manifests of deploy/kubernetes, with changes by values. */
const CHART = join(REPOSITORY, 'deploy/helm');
const FOLDER = join(REPOSITORY, 'deploy/kubernetes');

/** The configuration of deploy/kubernetes, which the chart has from a file. */
const CONFIG = ['--set-file', `config=${join(FOLDER, 'base/config/gateway.yaml')}`];

const render = (...args: string[]): Manifest[] => renderOnly(...CONFIG, ...args);

function renderOnly(...args: string[]): Manifest[] {
  // A helm that was built without a Kubernetes version assumes a cluster of version 1.20.
  const target = ['--namespace', 'inference-gateway', '--kube-version', '1.36.0'];
  const all = ['template', 'gateway', CHART, ...target, ...args];
  const { stdout, stderr, status } = spawnSync('helm', all, { encoding: 'utf8', timeout: 60_000 });
  if (status !== 0) throw new Error(stderr);
  const documents = parseAllDocuments(stdout);
  return ('empty' in documents ? [] : documents)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

function found(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const one = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (one === undefined) throw new Error(`there is no ${kind} ${name}`);
  return one;
}

/**
 * Sorts by kind and name. Leaves out the namespace, which `helm install --create-namespace`
 * creates.
 */
function sorted(manifests: readonly Manifest[]): readonly Manifest[] {
  const key = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
  return manifests.filter(({ kind }) => kind !== 'Namespace').toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

const MISSING =
  spawnSync('helm', ['version']).status === 0 ? undefined : 'helm 3 in PATH: https://helm.sh/docs/intro/install';

requirement(MISSING, () => {
  test('renders what kustomize renders', () => {
    expect(sorted(render())).toEqual(sorted(renderKustomization(FOLDER)));
  });

  test('renders the optional folders that values turn on', () => {
    const args = ['--set', 'autoscaling=in-flight,dashboardInternet=true,serviceMonitor=true'];
    const expected = [
      ...renderKustomization(join(FOLDER, 'base')),
      ...['autoscaling-in-flight', 'dashboard-internet', 'service-monitor'].flatMap((name) =>
        renderKustomization(join(FOLDER, name)),
      ),
    ];
    expect(sorted(render(...args))).toEqual(sorted(expected));
  });

  test('replaces no configuration by an example: without one only a trial is rendered', () => {
    expect(() => renderOnly()).toThrow('--set-file config=gateway.yaml');
    expect(found(renderOnly('--set', 'trial.enabled=true'), 'ConfigMap', 'gateway-config')).toBeDefined();
    const manual = readFileSync(join(REPOSITORY, 'docs/kubernetes.md'), 'utf8');
    const commands = manual.split('\n').filter((line) => /^helm (install|upgrade) .* -n inference-gateway /.test(line));
    expect(commands.map((line) => line.split(' ')[1])).toEqual(['install', 'upgrade']);
    for (const line of commands) expect(line).toContain('--set-file config=gateway.yaml');
  });

  test.each(['LoadBalancer', 'NodePort'])('a %s admits clients of every address, and shows it', (type) => {
    const made = render('--set', `serviceType=${type}`);
    expect(found(made, 'Service', 'gateway').spec).toMatchObject({ type, externalTrafficPolicy: 'Local' });
    const { ingress } = found(made, 'NetworkPolicy', 'gateway').spec as { ingress: readonly object[] };
    expect(ingress[0]).toEqual({ ports: [{ protocol: 'TCP', port: 8080 }] });
    expect(ingress).toHaveLength(3);
  });

  test('has as many pods as `leastPods` says when nothing scales them', () => {
    const made = render('--set', 'autoscaling=none,leastPods=30');
    expect(found(made, 'StatefulSet', 'gateway').spec).toMatchObject({ replicas: 30 });
    expect(made.map(({ kind }) => kind)).not.toContain('HorizontalPodAutoscaler');
    expect(found(render(), 'StatefulSet', 'gateway').spec).not.toHaveProperty('replicas');
  });

  test.each([
    '--set autoscaling=memory',
    '--set serviceType=ExternalName',
    '--set leastPods=0',
    '--set leastPods=30',
    '--set-string leastPods=2',
    '--set ingressNamespace=123',
    '--set replicas=2',
    '--set requests.gatway.cpu=2',
    '--set requests.envoy=null',
    '--set trial.enable=true',
    '--set patches.StatefulSet/gatway.spec.replicas=2',
  ])('refuses %s', (args) => {
    expect(() => render(...args.split(' '))).toThrow(/values don't meet|leastPods|patches/);
  });

  test('replaces lists of texts and empty lists by those of a patch', () => {
    const patches = {
      'NetworkPolicy/gateway': { spec: { policyTypes: ['Ingress'], egress: [] } },
      'Deployment/operator': {
        spec: { template: { spec: { containers: [{ name: 'operator', command: ['true'] }] } } },
      },
    };
    const made = render('--set-json', `patches=${JSON.stringify(patches)}`);
    expect(found(made, 'NetworkPolicy', 'gateway').spec).toMatchObject(patches['NetworkPolicy/gateway'].spec);
    expect(found(made, 'Deployment', 'operator').spec).toMatchObject(patches['Deployment/operator'].spec);
  });

  test('merges patches into any manifest, and elements of lists by their name or path', () => {
    const { patches: ofManual } = parse(fromManual('Helm', 'yaml', 1)) as { patches: { 'Job/migrate': Manifest } };
    const added = [
      { name: 'authority', mountPath: '/stores' },
      { name: 'spool', mountPath: '/archive' },
    ];
    const patches = {
      'StatefulSet/gateway': {
        spec: {
          template: {
            spec: {
              serviceAccountName: 'caller',
              volumes: [{ name: 'authority', secret: { secretName: 'authority' } }],
              containers: [{ name: 'gateway', volumeMounts: added }],
            },
          },
        },
      },
      ...ofManual,
    };
    const made = render('--set-json', `patches=${JSON.stringify(patches)}`);
    const [before, after] = [render(), made].map(
      (manifests) => podsOf(manifests).find(({ name }) => name === 'gateway')?.spec,
    );
    expect(after).toMatchObject({ serviceAccountName: 'caller', initContainers: before?.initContainers });
    expect(after?.volumes).toEqual([
      ...(before?.volumes ?? []),
      ...patches['StatefulSet/gateway'].spec.template.spec.volumes,
    ]);
    const [container] = before?.containers ?? [];
    const mounts = [...(container?.volumeMounts ?? []), ...added];
    expect(after?.containers).toEqual([{ ...container, volumeMounts: mounts }]);
    expect(found(made, 'Job', 'migrate').metadata).toMatchObject(patches['Job/migrate'].metadata);
  });

  test('has values for everything that overlays patch', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gw-helm-'));
    writeFileSync(join(folder, 'gateway.yaml'), 'demo: true # {{ not a template }}\n');
    const made = render(
      ...['--set', 'image=r/gateway:1,envoyImage=r/envoy:2,leastPods=1,mostPods=2,ingressNamespace=edge'],
      ...['--set', 'serviceType=LoadBalancer,requests.gateway.cpu=250m,requests.envoy.memory=256Mi'],
      ...['--set-file', `config=${join(folder, 'gateway.yaml')}`],
    );
    rmSync(folder, { recursive: true });
    const containers = podsOf(made).flatMap(({ spec }) => containersOf(spec));
    expect(new Set(containers.map(({ image }) => image))).toEqual(new Set(['r/gateway:1', 'r/envoy:2']));
    expect(found(made, 'HorizontalPodAutoscaler', 'gateway').spec).toMatchObject({ minReplicas: 1, maxReplicas: 2 });
    expect(found(made, 'Service', 'gateway').spec).toMatchObject({ type: 'LoadBalancer' });
    const text = stringify(made, { aliasDuplicateObjects: false });
    expect(text).toContain('kubernetes.io/metadata.name: edge');
    expect(text).not.toContain('ingress-nginx');
    expect(found(made, 'StatefulSet', 'gateway').spec).toMatchObject({
      template: {
        spec: {
          containers: [{ resources: { requests: { cpu: '250m', memory: '512Mi' } } }],
          initContainers: [{ resources: { requests: { cpu: '1', memory: '256Mi' } } }],
        },
      },
    });
    const { data } = found(made, 'ConfigMap', 'gateway-config') as unknown as { data: Record<string, string> };
    expect(data['gateway.yaml']).toBe('demo: true # {{ not a template }}\n');
  });

  test('for a trial it renders the referenced Secrets and a valid configuration', async () => {
    const made = renderOnly('--set', 'trial.enabled=true');
    const secrets = made.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name);
    const stores = ['dashboard-store', 'gateway-stores', 'operator-store', 'owner-store'];
    expect(secrets.toSorted()).toEqual([...stores, 'provider-keys']);
    found(made, 'Pod', 'trial-test');
    for (const { resources } of podsOf(made).flatMap(({ spec }) => spec.containers)) {
      expect(resources).toMatchObject({ requests: { cpu: expect.any(String), memory: expect.any(String) } });
      expect(resources.limits.memory).toBeDefined();
    }
    const result = await loadConfig(join(CHART, 'trial/gateway.yaml'), {}, { secrets: 'checked' });
    expect(result.ok && result.config.models.has('demo-chat')).toBe(true);
    if (missingValidator() === undefined)
      expect(validated(made)).toEqual(made.map(() => expect.stringMatching(/^INFO/)));
  });
});

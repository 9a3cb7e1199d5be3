import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { renderContainerConfig, type TestConfig } from '../harness/test-config.ts';
import { imageOf } from '../launchers/images.ts';
import { type Cluster, fromManual, MACHINE } from './cluster.ts';

/**
 * Writes the overlay of docs/kubernetes.md for a small cluster, with additions that the test
 * cluster needs.
 */
export function writeOverlay({ folder }: Cluster, config: TestConfig, version = '0.1.0'): void {
  const overlay = parse(fromManual('Install', 'yaml')) as Kustomization;
  const small = parse(fromManual('Install', 'yaml', 1)) as Pick<Kustomization, 'patches'>;
  const [envoyImage = '', envoyTag] = imageOf('ENVOY_IMAGE').split(':');
  const twoPods = ['minReplicas', 'maxReplicas'].map((field) => ({ op: 'replace', path: `/spec/${field}`, value: 2 }));
  const kustomization: Kustomization = {
    ...overlay,
    resources: [...overlay.resources, 'machine.json'],
    images: [
      ...overlay.images.map((image) => ({ ...image, newTag: version })),
      { name: 'envoyproxy/envoy', newName: envoyImage, newTag: envoyTag ?? 'latest' },
    ],
    patches: [
      ...small.patches,
      { target: { kind: 'HorizontalPodAutoscaler', name: 'gateway' }, patch: JSON.stringify(twoPods) },
    ],
  };
  const write = (name: string, text: string) => writeFileSync(join(folder, 'my-overlay', name), text);
  write('kustomization.yaml', JSON.stringify(kustomization));
  write('machine.json', JSON.stringify(ADMITS_THE_MACHINE));
  write('gateway.yaml', JSON.stringify({ ...JSON.parse(renderContainerConfig(config)), stores: PATIENT_STORES }));
}

/** Long time-outs, because the machine may pause for seconds. */
const PATIENT_STORES = { postgres_timeouts: { connect: '10s', statement: '5s' } };

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[];
  readonly patches: readonly { readonly target: object; readonly patch: string }[];
}

/** Permits the tests' provider and clients, which run on this machine. */
const ADMITS_THE_MACHINE = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'machine' },
  spec: {
    podSelector: { matchLabels: { 'app.kubernetes.io/name': 'gateway' } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ ipBlock: { cidr: `${MACHINE}/32` } }] }],
    egress: [{ to: [{ ipBlock: { cidr: `${MACHINE}/32` } }] }],
  },
};

/** Writes the files from which the manual creates Secrets. */
export function writeSecrets({ folder }: Cluster): void {
  const stores = 'stores.svc.cluster.local';
  const database = (user: string, password: string) =>
    `DATABASE_URL=postgres://${user}:${password}@postgres.${stores}:5432/gateway\n`;
  const files: Readonly<Record<string, string>> = {
    'owner.env': database('gateway', 'gateway'),
    'stores.env': `${database('gateway_process_login', 'process')}REDIS_URL=redis://redis.${stores}:6379\n`,
    'dashboard.env': database('gateway_dashboard_login', 'dashboard'),
    'operator.env': database('gateway_operator_login', 'operator'),
    'openai.key': 'first-key',
    'stripe.key': 'unused',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

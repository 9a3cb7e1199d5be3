import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY } from '../harness/deployment.ts';

/**
 * Each process gets only the secrets that it uses. The process that serves browsers gets no others.
 */
interface Service {
  /** `null` takes the value of the shell, if it has one. */
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly volumes?: readonly string[];
}

const read = (file: string) => readFileSync(join(REPOSITORY, file), 'utf8');
const { services } = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, Service> };
/** Secrets of `mail`, `sign_in` and `payments`. */
const OWN = ['OIDC_CLIENT_SECRET', 'SMTP_URL', 'STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'];
const sourcesOf = (name: string) => services[name]?.volumes?.map((volume) => volume.split(':')[0]);

test('compose: the dashboard has only the folders of the configuration and of its secrets, and no variables of other processes', () => {
  expect(sourcesOf('dashboard')).toEqual(['./deploy/compose/config', './deploy/compose/dashboard-secrets']);
  expect(Object.keys(services.dashboard?.environment ?? {}).sort()).toEqual([
    'DATABASE_URL',
    'GATEWAY_CONFIG',
    'LOG_LEVEL',
    'NODE_EXTRA_CA_CERTS',
    ...OWN,
  ]);
  for (const name of OWN) {
    expect(services.dashboard?.environment?.[name]).toBe(null);
    for (const other of Object.keys(services).filter((service) => service !== 'dashboard'))
      expect([other, Object.keys(services[other]?.environment ?? {}).includes(name)]).toEqual([other, false]);
  }
  const having = (folder: string) => Object.keys(services).filter((name) => sourcesOf(name)?.includes(folder));
  expect(having('./deploy/compose/secrets')).toEqual(['gateway']);
  expect(having('./deploy/compose/dashboard-secrets')).toEqual(['dashboard']);
  expect(having('./deploy/compose/tls')).toEqual(['gateway', 'envoy']);
  expect(Object.values(services).flatMap(({ volumes = [] }) => volumes)).not.toContainEqual(
    expect.stringMatching(/^\.\/deploy\/compose:/),
  );
});

test("compose: paths in the configuration are relative to the folder of the image's link", () => {
  const mounted = services.gateway?.volumes?.map((volume) => volume.split(':')[1]);
  expect(mounted).toEqual(['/config/gateway', '/config/secrets', '/config/tls', '/data']);
  expect(read('Dockerfile')).toContain('ln -s gateway/gateway.yaml /config/gateway.yaml');
  expect(services.gateway?.environment?.GATEWAY_CONFIG).toBe('/config/gateway.yaml');
});

test('Kubernetes: only the dashboard mounts its Secret, and from its store it gets only the database address', () => {
  const text = read('deploy/kubernetes/base/dashboard.yaml');
  expect(text.match(/secret(?:KeyRef|Name): *\S+ \S+/g)).toEqual([
    'secretKeyRef: {name: dashboard-store,',
    'secretName: dashboard-secrets, optional:',
  ]);
  for (const other of ['gateway', 'migrate'])
    expect(read(`deploy/kubernetes/base/${other}.yaml`)).not.toContain('dashboard-secrets');
  expect(text).toContain('secretKeyRef: {name: dashboard-store, key: DATABASE_URL}');
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY } from '../harness/deployment.ts';

/**
 * Checks the text of docker-compose.yml: which containers reach each other, and what must be set.
 * compose.test.ts starts it.
 */
interface Service {
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly mem_limit?: string;
  readonly pids_limit?: number;
}

const text = readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8');
const { services, networks } = parse(text, { merge: true }) as {
  services: Record<string, Service>;
  networks: Record<string, { readonly internal?: boolean } | null>;
};
const onNetwork = (network: string) =>
  Object.keys(services).filter((name) => services[name]?.networks?.includes(network));

test('each container reaches only what it needs', () => {
  expect(Object.fromEntries(Object.keys(networks).map((network) => [network, onNetwork(network)]))).toEqual({
    edge: ['gateway', 'envoy'],
    people: ['dashboard'],
    playground: ['envoy', 'dashboard'],
    demo: ['gateway', 'envoy', 'demo-provider'],
    database: ['gateway', 'dashboard', 'postgres'],
    limits: ['gateway', 'redis'],
  });
  const internal = Object.keys(networks).filter((network) => networks[network]?.internal === true);
  expect(internal).toEqual(['playground', 'demo', 'database', 'limits']);
});

test('ports are published on loopback unless an address is set', () => {
  const published = Object.values(services).flatMap(({ ports = [] }) => ports);
  expect(published.length).toBe(3);
  for (const port of published) expect(port).toMatch(/^(127\.0\.0\.1|\$\{API_ADDRESS:-127\.0\.0\.1\}):/);
});

test('passwords have no default', () => {
  const used = [...text.matchAll(/\$\{(\w*PASSWORD)([^}]*)\}/g)];
  expect(new Set(used.map(([, name]) => name))).toEqual(new Set(['POSTGRES_PASSWORD', 'REDIS_PASSWORD']));
  for (const [, , more = ''] of used) expect(more).toMatch(/^$|^:\?/);
});

test("Envoy gets AWS credentials from its own variables, not from the shell's", () => {
  const aws = Object.entries(services.envoy?.environment ?? {}).filter(([name]) => name.startsWith('AWS_'));
  expect(aws.length).toBe(4);
  for (const [name, value] of aws) expect(value).toBe(`\${GATEWAY_${name}:-}`);
});

test('each container has bounds on memory and on processes and threads', () => {
  const overlay = readFileSync(join(REPOSITORY, 'deploy/compose/least-privilege.yaml'), 'utf8');
  const all: Record<string, Service> = { ...parse(overlay).services, ...services };
  for (const [name, { mem_limit: memory, pids_limit: pids }] of Object.entries(all)) {
    expect.soft(memory, name).toMatch(/^\d+[mg]$/);
    expect.soft(pids, name).toBeGreaterThanOrEqual(128);
  }
});

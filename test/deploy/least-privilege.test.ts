import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROLES } from '#database/schema/roles.ts';
import { REPOSITORY } from '../harness/deployment.ts';

/**
 * Checks the text of the override of docker-compose.yml that gives each process its own database
 * user. compose.test.ts starts it.
 */
interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly logging?: { readonly options?: Readonly<Record<string, string>> };
}

const read = (file: string) => readFileSync(join(REPOSITORY, file), 'utf8');
const servicesOf = (file: string) =>
  (parse(read(file), { merge: true }) as { services: Record<string, Service> }).services;
const base = servicesOf('docker-compose.yml');
const over = servicesOf('deploy/compose/least-privilege.yaml');

test("each process has the user of its role, with that user's password", () => {
  const users = Object.entries(over).map(([name, { environment }]) => [
    name,
    /^postgres:\/\/(\w+):\$\{(\w+)/.exec(environment?.DATABASE_URL ?? '')?.slice(1),
  ]);
  expect(Object.fromEntries(users)).toEqual({
    migrate: ['gateway', 'POSTGRES_PASSWORD'],
    logins: undefined,
    gateway: ['gateway_process_login', 'GATEWAY_PROCESS_PASSWORD'],
    dashboard: ['gateway_dashboard_login', 'GATEWAY_DASHBOARD_PASSWORD'],
    operator: ['gateway_operator_login', 'GATEWAY_OPERATOR_PASSWORD'],
  });
  const logins = read('deploy/postgres/logins.sql');
  for (const role of ROLES) {
    const password = `${role.toUpperCase()}_PASSWORD`;
    expect(logins).toContain(`'${role}'`);
    expect(logins).toContain(`alter role ${role}_login password :'${/_(\w+)/.exec(role)?.[1]}_password'`);
    expect(logins).toContain(`\\getenv ${/_(\w+)/.exec(role)?.[1]}_password ${password}`);
    expect(over.logins?.environment).toHaveProperty(password);
  }
});

test('the log of every container is bounded, because it is on the disk of the charge log', () => {
  for (const [name, { logging }] of Object.entries(base))
    expect([name, logging?.options]).toEqual([name, { 'max-size': '100m', 'max-file': '5' }]);
});

test('all of our containers have a read-only image and no privileges', () => {
  // These two images write to their own folders, and change their user at the start.
  const official = ['postgres', 'redis'];
  const all = [...Object.entries(base), ...Object.entries(over).filter(([name]) => base[name] === undefined)];
  expect(all.length).toBeGreaterThan(7);
  for (const [name, service] of all.filter(([one]) => !official.includes(one))) {
    const { read_only, cap_drop, security_opt, privileged } = service;
    expect([name, read_only, cap_drop, security_opt, privileged]).toEqual([
      name,
      true,
      ['ALL'],
      ['no-new-privileges:true'],
      undefined,
    ]);
  }
});

import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';

/**
 * Stand-ins for npm, pip, vite and our own programs. Each records the environment that it ran with.
 */
const REPOSITORY = resolve(import.meta.dirname, '..');
const root = mkdtempSync(join(tmpdir(), 'gw-set-up-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string, mode = 0o644): string {
  const at = join(root, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text);
  chmodSync(at, mode);
  return at;
}

const dump = (name: string) =>
  `require('node:fs').writeFileSync(${JSON.stringify(join(root, 'dumps', name))}, JSON.stringify(process.env));`;

function copySetUp(): void {
  for (const name of ['scripts', 'core/lock', 'envoy', 'package.json', 'package-lock.json'])
    cpSync(join(REPOSITORY, name), join(root, name), { recursive: true });
}

const SECRETS = {
  OPENAI_API_KEY: 'sk-secret',
  DATABASE_URL: 'postgres://u:secret@h/d',
  REDIS_URL: 'redis://:secret@h',
  AWS_SECRET_ACCESS_KEY: 'secret',
  GATEWAY_DATA: '/secret',
};

function setUp(env: Readonly<Record<string, string>>): string {
  const { status: _, ...result } = spawnSync(process.execPath, [join(root, 'scripts/setup.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, ...SECRETS, ...env },
  });
  return `${result.stdout}${result.stderr}`;
}

test('set-up by a user who may not write into the checkout says who should run it', () => {
  copySetUp();
  mkdirSync(join(root, '.cache'));
  for (const folder of [root, join(root, '.cache')]) chmodSync(folder, 0o555);
  const as = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/setup.mjs')], {
    encoding: 'utf8',
    ...as,
  });
  for (const folder of [root, join(root, '.cache')]) chmodSync(folder, 0o755);
  expect([status, stderr]).toEqual([
    1,
    `\n${join(root, '.cache/setup.lock')} cannot be written: run "node scripts/setup.mjs" as the owner of this folder.\n\n`,
  ]);
});

test("set-up runs other programs without the secrets in the gateway's environment", { timeout: 60_000 }, () => {
  copySetUp();
  mkdirSync(join(root, 'dumps'));
  const vite = write('fake-vite.js', dump('vite'));
  const npm = write(
    'fake-npm.cjs',
    `${dump('npm')} const { cpSync, mkdirSync } = require('node:fs');
    mkdirSync('node_modules/.bin', { recursive: true });
    cpSync(${JSON.stringify(vite)}, 'node_modules/vite/bin/vite.js');`,
  );
  write('bin/npm', `#!/bin/sh\nexec '${process.execPath}' '${npm}' "$@"\n`, 0o755);
  const pip = write('fake-pip.cjs', `${dump('pip')} process.exitCode = 1;`);
  write('bin/python3', `#!/bin/sh\nexec '${process.execPath}' '${pip}' "$@"\n`, 0o755);
  for (const name of ['supervisor', 'core', 'database', 'ext-proc', 'packages', 'dashboard/server', 'operator'])
    write(
      `${name}/main.ts`,
      `import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(join(root, 'dumps', name.replace('/', '-')))}, JSON.stringify(process.env));`,
    );
  const settings = {
    PATH: `${join(root, 'bin')}:${process.env.PATH}`,
    npm_config_registry: 'https://npm.example.com',
    PIP_INDEX_URL: 'https://u:secret-of-pip@pip.example.com',
    HTTPS_PROXY: 'http://proxy.example.com',
    no_proxy: 'localhost',
    NODE_EXTRA_CA_CERTS: '/dev/null',
    SSL_CERT_FILE: '/ca.pem',
    CI: 'true',
  };
  // Without an Envoy set-up runs pip, which fails here. With an Envoy it builds the page.
  expect(setUp({ ...settings, ENVOY_BIN: '' })).toContain('Envoy 1.39.3 could not be set up');
  setUp({ ...settings, ENVOY_BIN: '/bin/true' });

  const dumps = new Map(
    readdirSync(join(root, 'dumps')).map((name) => [
      name,
      JSON.parse(readFileSync(join(root, 'dumps', name), 'utf8')) as Record<string, string>,
    ]),
  );
  expect([...dumps.keys()].sort()).toEqual([
    'dashboard-server',
    'ext-proc',
    'npm',
    'operator',
    'pip',
    'supervisor',
    'vite',
  ]);
  for (const [name, seen] of dumps) {
    expect([name, Object.keys(SECRETS).filter((secret) => secret in seen)]).toEqual([name, []]);
    const { PATH, HTTPS_PROXY, no_proxy, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, CI } = settings;
    expect(seen).toMatchObject({ PATH, HTTPS_PROXY, no_proxy, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, CI });
    expect([name, 'npm_config_registry' in seen]).toEqual([name, name === 'npm']);
    expect([name, 'PIP_INDEX_URL' in seen]).toEqual([name, name === 'pip']);
  }
});

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { REPOSITORY } from '../../harness/deployment.ts';
import { findInMemory, MARK } from '../../harness/process-memory.ts';
import { chat, type Home, makeHome, startService } from '../../harness/service.ts';
import { startProcess } from '../../launchers/child-process.ts';

/**
 * Only the gateway process has the secrets of the configuration in its memory. Processes that do
 * not need them do not.
 */
const IN_FILES = { key: `${MARK}of-file-4be1`, header: `${MARK}of-header-file-90d7` };
const IN_ENVIRONMENT = { KEY: `${MARK}of-variable-7c22`, HEADER: `${MARK}of-header-variable-e5f8` };
const ALL = [...Object.values(IN_FILES), ...Object.values(IN_ENVIRONMENT)];
/** Secrets of the dashboard: for mail, sign-in by an issuer, and payments. */
const OF_DASHBOARD = {
  MAIL: `${MARK}of-mail-1d3a`,
  CLIENT: `${MARK}of-client-b0c4`,
  STRIPE: `${MARK}of-stripe-file-6e91`,
  EVENTS: `${MARK}of-events-file-a27f`,
};

let home: Home;
afterEach(() => home.remove());

function name(secrets: Home): string {
  const path = join(secrets.folder, 'gateway.yaml');
  const providers = ['${file:secrets/key}', '${KEY}'].map(
    (key, index) => `one-${index}: {base_url: "http://127.0.0.1:1", api_key: "${key}"}, `,
  );
  const text = readFileSync(path, 'utf8').replace('providers: {', `providers: {${providers.join('')}`);
  const headers = 'authorization: "Bearer ${HEADER}", x-key: "${file:secrets/header}"';
  writeFileSync(path, `${text}tracing: {otlp_url: "http://127.0.0.1:1", headers: {${headers}}}\n`);
  const dashboard = [
    'mail: {smtp_url: "smtp://user:${MAIL}@127.0.0.1:1", from: a@example.com}',
    'sign_in: {oidc: {issuer: "http://127.0.0.1:1", client_id: gateway, client_secret: "${CLIENT}"}}',
    'payments: {stripe: {secret_key: "${file:secrets/stripe}", webhook_secret: "${file:secrets/events}"}}',
  ];
  writeFileSync(path, `${readFileSync(path, 'utf8')}${dashboard.join('\n')}\n`);
  mkdirSync(join(secrets.folder, 'secrets'));
  const { STRIPE, EVENTS } = OF_DASHBOARD;
  for (const [file, secret] of Object.entries({ stripe: `sk_live_${STRIPE}`, events: `whsec_${EVENTS}` }))
    writeFileSync(join(secrets.folder, 'secrets', file), secret);
  for (const [file, secret] of Object.entries(IN_FILES)) writeFileSync(join(secrets.folder, 'secrets', file), secret);
  return path;
}

test('the gateway process has its secrets in memory; the dashboard, Envoy, PostgreSQL and the demo provider do not', async () => {
  home = await makeHome();
  const path = name(home);
  const { MAIL, CLIENT, STRIPE, EVENTS } = OF_DASHBOARD;
  const service = await startService(home, { ...IN_ENVIRONMENT, MAIL, CLIENT });
  const { pid } = service.childNamed('dashboard/server/main.ts');
  // A request starts the demo provider, whose process runs only while it has requests.
  expect((await chat(home, service)).status).toBe(200);
  expect(findInMemory(service.childNamed('ext-proc/main.ts').pid, ALL)).toEqual(ALL);
  expect(findInMemory(service.pid, Object.values(IN_FILES))).toEqual([]);
  const others = ['envoy.yaml', '/postgres', 'demo/provider.ts'].map((part) => service.childNamed(part).pid);
  for (const each of [pid, ...others]) expect([each, findInMemory(each, ALL)]).toEqual([each, []]);
  const own = [MAIL, CLIENT, STRIPE, EVENTS];
  expect(findInMemory(pid, own)).toEqual(own);
  const gateway = service.childNamed('ext-proc/main.ts').pid;
  for (const each of [gateway, ...others]) expect([each, findInMemory(each, own)]).toEqual([each, []]);
  expect(findInMemory(service.pid, [STRIPE, EVENTS])).toEqual([]);

  // The dashboard reloads a changed file without reading the gateway's secrets.
  writeFileSync(path, `${readFileSync(path, 'utf8')}top_up_url: "https://pay.example.com"\n`);
  const reloaded =
    /"process":"dashboard"[^\n]*configuration reloaded|configuration reloaded[^\n]*"process":"dashboard"/;
  await expect.poll(() => service.output()).toMatch(reloaded);
  expect([service.childNamed('dashboard/server/main.ts').pid, findInMemory(pid, ALL)]).toEqual([pid, []]);
  await service.end('SIGTERM', PATIENCE_MS);
});

test('a command reads no secret file, and keeps no secret of its environment on its heap', async () => {
  home = await makeHome();
  name(home);
  const snapshot = join(home.folder, 'snapshot');
  const script = `import { runCommandLine } from ${JSON.stringify(join(REPOSITORY, 'operator/command-line.ts'))};
    import { writeHeapSnapshot } from 'node:v8';
    for (const args of [['org', 'list'], ['check-config'], ['doctor']]) await runCommandLine(args, process.env);
    writeHeapSnapshot(process.argv[1]);
    process.send({ type: 'done' });
    process.once('disconnect', () => process.exit());`;
  const command = startProcess(process.execPath, ['--input-type=module', '--eval', script, snapshot], {
    cwd: REPOSITORY,
    env: { ...home.env, ...IN_ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const done = new Promise((resolve) => command.child.once('message', resolve));
  await Promise.race([done, command.exited]);
  expect(command.output()).toBe('');
  expect(findInMemory(command.pid, Object.values(IN_FILES))).toEqual([]);
  const heap = readFileSync(snapshot, 'latin1');
  expect([heap.includes('GATEWAY_CONFIG'), ALL.filter((secret) => heap.includes(secret))]).toEqual([true, []]);
  // The environment stays where the kernel placed it.
  expect(findInMemory(command.pid, Object.values(IN_ENVIRONMENT))).toEqual(Object.values(IN_ENVIRONMENT));
  await command.end();
});

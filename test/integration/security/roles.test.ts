import { beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '#dashboard/server/routes.ts';
import type { Result } from '#operator/command-line/result.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from '../../harness/database.ts';
import { loginOf } from '../../harness/database-logins.ts';
import { eventsOf, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import { createBrowser } from '../dashboard/dashboard-browser.ts';
import { startDashboardProcess } from '../dashboard/dashboard-child.ts';
import { DECISIONS } from '../dashboard/dashboard-routes.ts';
import { ask, openScene, type Scene } from '../dashboard/dashboard-scene.ts';

/**
 * Every process connects with a role that has only the rights for its work (schema/roles.sql), and
 * every use of the gateway still works.
 */
let asOperator: Readonly<Record<string, string>>;

const gateway = withGateway({
  config: { models: { one: {} } },
  databaseRole: 'gateway_process',
});

beforeAll(async () => {
  asOperator = { ...gateway.stack.env, DATABASE_URL: await loginOf(gateway.stack.databaseUrl, 'gateway_operator') };
});

async function operate<T>(...args: string[]): Promise<T> {
  const result: Result = await runCommandLine(args, asOperator);
  if (result.kind !== 'done') throw new Error(`${args.join(' ')}: ${result.message}`);
  return result.json as T;
}

describe('the gateway process and the command line', () => {
  test('serve, charge, replay, and write the request log', async () => {
    const { id } = await operate<{ id: string }>('org', 'create', '--name', 'Acme', '--credit', '5', '--rpm', '100');
    const made = ['--org', id, '--name', 'backend', '--scopes', 'chat,usage:read'];
    const { key, id: keyId } = await operate<{ key: string; id: string }>('key', 'create', ...made);
    const client = gatewayClient(gateway.stack.origin, key);
    gateway.provider.script('one', jsonAnswer({ text: 'Hello' }));
    expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
    const again = { headers: { 'idempotency-key': 'again' } };
    const first = await client.chat({ model: 'one' }, again);
    expect((await client.chat({ model: 'one' }, again)).text).toBe(first.text);
    gateway.provider.script('one', streamAnswer({ pieces: ['Hel', 'lo'] }));
    expect(eventsOf(await client.chat({ model: 'one', stream: true })).at(-1)).toBe('[DONE]');
    for (const path of ['/v1/models', '/v1/credits', '/v1/usage']) expect(outcome(await client.get(path))).toBe('200');
    await operate('key', 'update', keyId, '--lifetime-budget', '0.000000001');
    expect(outcome(await client.chat({ model: 'one' }))).toBe('402 insufficient_credits');
    await operate('key', 'revoke', keyId);
    expect(outcome(await client.chat({ model: 'one' }))).toBe('401 key_revoked');
    const lines = () => sql(gateway.stack.databaseUrl, `select from request_log where organization_id = '${id}'`);
    await expect.poll(async () => (await lines()).length).toBe(9);
    const days = () =>
      sql<{ until: string }>(gateway.stack.databaseUrl, 'select summed_until::text as until from request_days');
    await expect.poll(async () => (await days())[0]?.until).toMatch(/^20/);
    client.close();
  });

  test('execute every command', async () => {
    const { id } = await operate<{ id: string }>('org', 'create', '--name', 'Other');
    await operate('org', 'update', id, '--rpm', '5');
    await operate('org', 'credit', id, '3', '--reference', 'r1');
    await operate('org', 'suspend', id);
    await operate('org', 'resume', id);
    await operate('org', 'list');
    await operate('org', 'show', id);
    await operate('key', 'list', '--org', id);
    await operate('key', 'list', '--org', id, '--csv');
    await operate('user', 'create', '--email', 'ada@acme.example', '--org', id);
    await operate('user', 'reset-password', 'ada@acme.example');
    await operate('user', 'list');
    expect(await operate('ledger', 'verify')).toMatchObject({ ok: true });
    await operate('ledger', 'renew-epoch');
    expect(await operate('costs', 'report', '--by', 'provider')).toMatchObject([{ provider: 'fake', requests: 3 }]);
  });

  test.each(['gateway_operator', 'gateway_process'] as const)('let doctor run as %s', async (role) => {
    const result = await runCommandLine(['doctor'], {
      ...gateway.stack.env,
      DATABASE_URL: await loginOf(gateway.stack.databaseUrl, role),
    });
    const { findings } = (result as { json: { findings: { check: string; verdict: string; found: string }[] } }).json;
    const ofDatabase = findings.filter(({ check }) => /database|ledger|dead letters|gateway process/.test(check));
    expect(ofDatabase.length).toBeGreaterThan(5);
    expect(ofDatabase.filter(({ verdict }) => verdict === 'problem')).toEqual([]);
  });

  test('log no missing right', () => {
    expect(gateway.stack.logs()).not.toMatch(/42501|permission denied|could not|cannot/);
  });
});

describe('the dashboard', () => {
  test('starts beside the gateway and signs an operator in', async () => {
    const DATABASE_URL = await loginOf(gateway.stack.databaseUrl, 'gateway_dashboard');
    const dashboard = await startDashboardProcess(gateway.stack, { DATABASE_URL });
    const { email, password } = await operate<{ email: string; password: string }>(
      'user',
      'create',
      '--email',
      'root@example.com',
      '--operator',
    );
    const browser = createBrowser(gateway.stack.dashboardOrigin);
    expect((await browser.send('POST', '/api/session', { email, password })).status).toBe(200);
    const next = 'a completely different one';
    expect((await browser.send('PUT', '/api/password', { current: password, next })).status).toBe(200);
    const system = await browser.get<{ processes: unknown[] }>('/api/system');
    expect([system.status, system.body.processes.length]).toEqual([200, 1]);
    await dashboard.end();
    expect(dashboard.output()).not.toMatch(/42501|permission denied/);
  });

  test('responds to every route as it does with all rights', async () => {
    const scenes: Scene[] = await Promise.all([openScene(), openScene('gateway_dashboard')]);
    const [withAll, withFew] = await Promise.all(scenes.map(answersOf));
    expect(withAll?.size).toBe(ROUTES.length);
    expect(withFew).toEqual(withAll);
    await Promise.all(scenes.map((scene) => scene.close()));
  });
});

/** The status of each route, with a new session each, because some routes end sessions. */
async function answersOf(scene: Scene): Promise<ReadonlyMap<string, number>> {
  const answers = new Map<string, number>();
  for (const route of ROUTES) {
    const name = `${route.method} ${route.path}`;
    const decision = DECISIONS.get(name);
    if (decision === undefined) throw new Error(`nothing is decided about ${name}`);
    const browser = await scene.browserOf('operator');
    const reply = await ask(browser, route, await scene.parametersFor(route, 'operator'), decision);
    answers.set(name, reply.status);
  }
  return answers;
}

test('a right that a restore forgot is no_capacity until gateway migrate, and the log names it', async () => {
  const { databaseUrl: DATABASE_URL, env, origin, operator } = gateway.stack;
  const { key } = await operator.customer();
  const client = gatewayClient(origin, key);
  await sql(DATABASE_URL, 'revoke select on accounts from gateway_process');
  for (const ask of [() => client.chat({ model: 'one' }), () => client.get('/v1/models')])
    expect(outcome(await ask())).toBe('503 no_capacity');
  await expect
    .poll(() => gateway.stack.logs())
    .toMatch(/until `gateway migrate`.*permission denied for table accounts/);
  expect(await runCommandLine(['migrate'], { ...env, DATABASE_URL })).toMatchObject({ kind: 'done' });
  expect(outcome(await client.get('/v1/models'))).toBe('200');
  client.close();
});

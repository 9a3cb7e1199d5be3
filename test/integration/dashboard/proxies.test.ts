import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import type { Finding } from '#operator/doctor/check.ts';
import { createDatabase } from '../../harness/database.ts';
import { untilQuarterIsYoung } from '../../harness/young-window.ts';
import { ipcMessage, startProcess, type TestProcess } from '../../launchers/child-process.ts';
import { freePorts } from '../../launchers/free-ports.ts';
import { createBrowser } from './dashboard-browser.ts';

/** The dashboard behind a proxy that is not in `trusted_proxies`. */
describe('a dashboard without trusted_proxies', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-proxies-'));
  const configPath = join(folder, 'gateway.yaml');
  let port = 0;
  let env: Record<string, string>;
  let dashboard: TestProcess;

  const configure = (more = '') =>
    writeFileSync(
      configPath,
      `listen: {api: 127.0.0.1:1, dashboard: "127.0.0.1:${port}", metrics: 127.0.0.1:2}\ndashboard: {url: "https://dashboard.example.com"}\n${more}`,
    );

  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    env = { GATEWAY_CONFIG: configPath, GATEWAY_DATA: folder, DATABASE_URL: await createDatabase() };
    configure();
    dashboard = startProcess(process.execPath, ['dashboard/server/main.ts'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    await ipcMessage(dashboard, 'listening');
  });
  afterAll(async () => {
    await dashboard?.end();
    rmSync(folder, { recursive: true });
  });
  beforeEach(untilQuarterIsYoung);

  async function commandLine<T>(...args: string[]): Promise<T> {
    const result = await runCommandLine(args, env);
    if (result.kind === 'usage') throw new Error(result.message);
    return result.json as T;
  }
  const newUser = async (email: string) => {
    const { password } = await commandLine<{ password: string }>('user', 'create', '--email', email, '--operator');
    return { email, password };
  };
  const browser = () => createBrowser(`http://127.0.0.1:${port}`);
  const origin = { origin: 'https://dashboard.example.com' };
  const signIn = (who: { email: string; password: string }, headers: Record<string, string>, by = browser()) =>
    by.send('POST', '/api/session', who, { ...origin, ...headers });
  const doctor = async () =>
    (await commandLine<{ findings: Finding[] }>('doctor')).findings.filter(
      ({ check }) => check === 'dashboard proxies',
    );

  it.each([
    ['x-forwarded-for', '198.51.100.1'],
    ['forwarded', '198.51.100.2'],
  ])('signs others in after 40 wrong passwords with the header %s', async (name, attacker) => {
    const from = (address: string) => ({ [name]: name === 'forwarded' ? `for=${address}` : address });
    const ada = await newUser(`ada-${name}@example.com`);
    const bob = await newUser(`bob-${name}@example.com`);
    const outcomes: number[] = [];
    for (let attempt = 0; attempt < 40; attempt++) {
      const email = attempt % 2 === 0 ? ada.email : `nobody-${attempt}@example.com`;
      outcomes.push((await signIn({ email, password: 'wrong' }, from(attacker))).status);
    }
    expect(new Set(outcomes)).toEqual(new Set([403, 429]));
    for (const who of [ada, bob]) expect((await signIn(who, from('203.0.113.7'))).status).toBe(200);
  });

  it('reports the proxy in its log, to signed-in operators and to doctor, until it is configured', async () => {
    const boss = browser();
    await signIn(await newUser('boss@example.com'), { 'x-forwarded-for': '203.0.113.8' }, boss);
    await expect.poll(() => dashboard.output()).toContain('not in trusted_proxies');
    expect(dashboard.output()).toContain('"proxy":"127.0.0.1"');
    expect(dashboard.output()).toContain('dashboard.url is https and trusted_proxies is empty');
    expect((await boss.get('/api/session')).body).toMatchObject({ untrustedProxy: '127.0.0.1' });
    const findings = await doctor();
    expect(findings.map(({ verdict }) => verdict)).toEqual(['warning', 'problem']);
    expect(findings[1]?.found).toContain('127.0.0.1 sent X-Forwarded-For');
    configure('trusted_proxies: [127.0.0.1]\n');
    expect(await doctor()).toMatchObject([{ verdict: 'ok' }]);
    await expect.poll(async () => (await boss.get('/api/session')).body).not.toHaveProperty('untrustedProxy');
    configure();
  });
});

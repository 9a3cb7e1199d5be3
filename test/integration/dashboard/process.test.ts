import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../harness/database.ts';
import { ipcMessage, startProcess, type TestProcess } from '../../launchers/child-process.ts';
import { freePorts } from '../../launchers/free-ports.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-dashboard-'));
const configPath = join(folder, 'gateway.yaml');
const started: TestProcess[] = [];

afterEach(async () => {
  for (const one of started.splice(0)) await one.end();
});
afterAll(() => rmSync(folder, { recursive: true }));

function writeConfig(port: number, more = ''): void {
  const text = `listen: {api: 127.0.0.1:1, dashboard: 127.0.0.1:${port}, metrics: 127.0.0.1:2}\n${more}`;
  writeFileSync(`${configPath}.new`, text);
  renameSync(`${configPath}.new`, configPath);
}

function start(databaseUrl: string | undefined): TestProcess {
  const { DATABASE_URL: _, ...env } = process.env;
  const database = databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl };
  const one = startProcess(process.execPath, ['dashboard/server/main.ts'], {
    env: { ...env, GATEWAY_CONFIG: configPath, ...database },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  started.push(one);
  return one;
}

describe('the dashboard process', () => {
  it('listens, follows the configuration and ends on SIGTERM', async () => {
    const [port = 0] = await freePorts(1);
    writeConfig(port);
    const one = start(await createEmptyDatabase());
    await ipcMessage(one, 'listening');
    const tls = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/session`, { headers: { connection: 'close' } });
      await answer.arrayBuffer();
      return [answer.status, answer.headers.get('strict-transport-security')];
    };
    expect(await tls()).toEqual([401, null]);
    writeConfig(port, 'dashboard: {url: "https://dashboard.example.com"}\n');
    await expect.poll(tls).toEqual([401, 'max-age=31536000']);
    writeConfig(port, 'dashboard: {url: ftp://no}\n');
    await expect.poll(() => one.output()).toContain('configuration not reloaded');
    expect(await tls()).toEqual([401, 'max-age=31536000']);
    const token = join(folder, 'token');
    writeFileSync(token, 'not-to-be-logged');
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
    writeConfig(port, 'mail: {smtp_url: "smtps://me:${file:token}@a.example", from: me@a.example}\n');
    await expect.poll(() => one.output()).toMatch(/(configuration reloaded.*){2}/s);
    writeFileSync(token, '');
    await expect.poll(() => one.output()).toContain('the former content stays in use until a restart');
    expect(one.output()).not.toContain('not-to-be-logged');
    one.child.kill('SIGTERM');
    expect(await one.exited).toBe(0);
  });

  it('has 16 threads, so that slow name servers leave some for other lookups', async () => {
    const [port = 0] = await freePorts(1);
    writeConfig(port);
    const one = start(await createEmptyDatabase());
    await ipcMessage(one, 'listening');
    const threads = `/proc/${one.child.pid}/task`;
    const names = readdirSync(threads).map((thread) => readFileSync(`${threads}/${thread}/comm`, 'utf8').trim());
    expect(names.filter((name) => name === 'libuv-worker')).toHaveLength(16);
  });

  it('ends with its supervisor', async () => {
    const [port = 0] = await freePorts(1);
    writeConfig(port);
    const one = start(await createEmptyDatabase());
    await ipcMessage(one, 'listening');
    one.child.disconnect();
    expect(await one.exited).toBe(0);
  });

  it.each<[what: string, config: string, databaseUrl: string | undefined, status: number, message: string]>([
    ['the configuration is wrong', 'limits: {read_rpm: none}\n', undefined, 78, 'gateway.yaml:2:'],
    ['there is no database to use', '', undefined, 78, 'set DATABASE_URL'],
    ['the database is away', '', 'postgres://gateway@127.0.0.1:9/gateway', 1, 'connect ECONNREFUSED 127.0.0.1:9'],
  ])('says what to do if %s', async (_, config, databaseUrl, status, message) => {
    writeConfig(3, config);
    const one = start(databaseUrl);
    expect(await one.exited).toBe(status);
    expect(one.output()).toContain(message);
    expect(one.output()).not.toContain('    at ');
  });
});

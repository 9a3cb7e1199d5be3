import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { allGoneWithin, type Home, makeHome, startService, statusOfModels } from '../../harness/service.ts';

/** The dashboard under `npm start` is restarted like other processes, but nothing waits for it. */
const DASHBOARD = 'dashboard/server/main.ts';
const homes: Home[] = [];

afterEach(async () => {
  for (const home of homes.splice(0)) await home.remove();
});

async function newHome(): Promise<Home> {
  const home = await makeHome();
  homes.push(home);
  return home;
}

const originOf = (home: Home) => `http://127.0.0.1:${home.dashboardPort}`;

/** The status of a read, or 0 if the dashboard does not respond. */
async function dashboardStatus(home: Home): Promise<number> {
  const answer = await fetch(`${originOf(home)}/api/session`, { headers: { connection: 'close' } }).catch(
    () => undefined,
  );
  await answer?.arrayBuffer();
  return answer?.status ?? 0;
}

async function signIn(home: Home, email: string, password: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${originOf(home)}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: originOf(home), connection: 'close' },
    body: JSON.stringify({ email, password }),
  });
  return { status: answer.status, text: await answer.text() };
}

const SIGN_IN_LINE = /^ {2}(\S+@\S+) {3}(\S+)$/m;

test('the first start prints a working sign-in; later ones print how to get a new password', async () => {
  const home = await newHome();
  const first = await startService(home);
  expect(first.output()).toContain(`Dashboard  ${originOf(home)}\n`);
  const [, email = '', password = ''] = SIGN_IN_LINE.exec(first.output()) ?? [];
  expect(email).toBe('demo@example.com');
  const signedIn = await signIn(home, email, password);
  expect(signedIn).toMatchObject({ status: 200, text: expect.stringContaining('"isOperator":true') });
  expect(signedIn.text).toContain('"name":"Demo"');
  expect((await signIn(home, email, `${password}x`)).status).toBe(403);
  const processes = first.processes();
  await first.end('SIGTERM', PATIENCE_MS);
  expect(await first.exited).toBe(0);
  expect(await allGoneWithin(processes, 10_000)).toEqual([]);

  const second = await startService(home);
  expect(SIGN_IN_LINE.exec(second.output())).toBe(null);
  expect(second.output()).toContain('npm run -s gateway -- user reset-password demo@example.com\n');
  expect(await signIn(home, email, password)).toMatchObject({ status: 200 });
  await second.end('SIGTERM', PATIENCE_MS);
});

test('a killed dashboard restarts, is retried while its port is taken, and does not affect the API', async () => {
  const home = await newHome();
  const service = await startService(home);
  await expect.poll(() => dashboardStatus(home)).toBe(401);
  const killed = service.childNamed(DASHBOARD).pid;
  process.kill(killed, 'SIGKILL');
  await expect.poll(() => dashboardStatus(home)).toBe(401);
  expect(service.childNamed(DASHBOARD).pid).not.toBe(killed);

  const taker = createServer((socket) => socket.destroy());
  // The supervisor is stopped, so that it starts no new dashboard before the port is taken.
  process.kill(service.pid, 'SIGSTOP');
  process.kill(service.childNamed(DASHBOARD).pid, 'SIGKILL');
  await takePort(taker, home.dashboardPort);
  process.kill(service.pid, 'SIGCONT');
  await expect.poll(() => service.output()).toContain('The dashboard ended with exit code 78');
  await expect.poll(() => service.output()).toMatch(/The dashboard ended .*; next attempt in \d+ ms/);
  expect(await statusOfModels(home, service)).toBe(200);
  expect(service.hasEnded()).toBe(false);
  taker.close();
  await once(taker, 'close');
  await expect.poll(() => dashboardStatus(home)).toBe(401);
  expect(await statusOfModels(home, service)).toBe(200);
  await service.end('SIGTERM', PATIENCE_MS);
  expect(await service.exited).toBe(0);
});

test('a dashboard that cannot start is reported, and everything else starts without it', async () => {
  const home = await newHome();
  // The dashboard does not get variables of provider keys, so it cannot resolve this reference.
  const other = `top_up_url: "https://pay.example.com/\${SHARED}"`;
  const path = join(home.folder, 'gateway.yaml');
  const config = readFileSync(path, 'utf8').replace(
    'providers: {',
    `providers: {keyed: {base_url: "http://127.0.0.1:1", api_key: "\${SHARED}"}, `,
  );
  writeFileSync(path, `${config}${other}\n`);
  const service = await startService(home, { SHARED: 'a-provider-key' });
  await expect
    .poll(() => service.output())
    .toContain('The dashboard ended with exit code 78 before it was ready; next attempt in');
  expect(service.output()).toContain('top_up_url: the environment variable SHARED is not set');
  expect(await statusOfModels(home, service)).toBe(200);
  writeFileSync(path, config);
  await expect.poll(() => dashboardStatus(home)).toBe(401);
  await service.end('SIGTERM', PATIENCE_MS);
  expect(await service.exited).toBe(0);
});

/** Listens on the port. Tries again, because the killed process may hold it for a moment. */
async function takePort(taker: ReturnType<typeof createServer>, port: number): Promise<void> {
  for (;;) {
    taker.listen(port, '127.0.0.1');
    try {
      // Rejects if the server emits an error.
      await once(taker, 'listening');
      return;
    } catch {}
    await sleep(5);
  }
}

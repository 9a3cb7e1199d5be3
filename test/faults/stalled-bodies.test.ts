import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FRUGAL } from '#supervisor/children/node-child.ts';
import { createDatabase } from '../harness/database.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { startDashboardProcess } from '../integration/dashboard/dashboard-child.ts';
import { ipcMessage, type TestProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';

/**
 * An unauthenticated client sends endless bodies to the dashboard, or requests whose responses it
 * never reads.
 */
const folder = mkdtempSync(join(tmpdir(), 'gw-stalled-'));
const DIST = join(import.meta.dirname, '../../dashboard/dist');
const MIB = 1024 * 1024;
/** The dashboard allows 2,000 connections. */
const CONNECTIONS = 1_990;
/** Less than the dashboard waits for a body. */
const REFUSED_WITHIN_MS = 10_000;
const FAKE_SIGNATURE = { 'stripe-signature': `t=1,v1=${'0'.repeat(64)}` };
const SAME_SITE = { 'sec-fetch-site': 'same-origin' };

let stripe: ScriptedStripe;
let dashboard: TestProcess;
let port = 0;
const sockets: Socket[] = [];

beforeAll(async () => {
  stripe = await startScriptedStripe();
  const [api = 0, page = 0, metrics = 0] = await freePorts(3);
  port = page;
  stripe.deliverTo = `http://127.0.0.1:${port}`;
  const { secretKey, webhookSecret, apiBase } = stripe.config;
  const config = {
    listen: { api: `127.0.0.1:${api}`, dashboard: `127.0.0.1:${port}`, metrics: `127.0.0.1:${metrics}` },
    payments: { stripe: { secret_key: secretKey, webhook_secret: webhookSecret, api_base: apiBase.origin } },
  };
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config));
  const env = { GATEWAY_CONFIG: join(folder, 'gateway.yaml'), DATABASE_URL: await createDatabase() };
  const nodeOptions = [...FRUGAL.nodeOptions, `--import=${join(REPOSITORY, 'test/harness/held-memory.ts')}`];
  dashboard = await startDashboardProcess({ env }, { ...FRUGAL.env, NODE_OPTIONS: nodeOptions.join(' ') });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await dashboard?.end();
  await stripe?.close();
  rmSync(folder, { recursive: true });
});

/** Memory that the dashboard holds, without garbage. */
async function heldMib(): Promise<number> {
  const reply = ipcMessage<{ bytes: number }>(dashboard, 'held');
  dashboard.child.send('held');
  return (await reply).bytes / MIB;
}

/** Refused connections may close a little later, all others only after the request's time-out. */
const expectGrowth = (beforeMib: number) =>
  expect.poll(async () => (await heldMib()) - beforeMib, { timeout: REFUSED_WITHIN_MS });

/** Sends all but the last byte of a body. */
async function stall(path: string, bytes: number, headers: Readonly<Record<string, string>>): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  const lines = Object.entries({ host: 'dashboard', 'content-length': String(bytes), ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n`);
  socket.resume();
  return socket;
}

/** Stalls many bodies, each with as many bytes as its connection accepts. */
async function flood(path: string, bytes: number, headers: Readonly<Record<string, string>>): Promise<void> {
  const body = Buffer.alloc(bytes - 1, 'x');
  const open: Socket[] = [];
  for (let begun = 0; begun < CONNECTIONS; begun++) open.push(await stall(path, bytes, headers));
  await Promise.all(
    open.map(
      (socket) => new Promise<void>((resolve) => void socket.once('close', resolve).write(body, () => resolve())),
    ),
  );
}

/** A request for a file of a third of a megabyte. */
function fileRequest(): string {
  const asset = readdirSync(join(DIST, 'assets')).find((name) => /^libraries.*\.js$/.test(name)) ?? '';
  return `GET /assets/${asset} HTTP/1.1\r\nhost: dashboard\r\n\r\n`;
}

/** Sends complete requests in one write, behind responses that are never read. */
async function pipeline(request: string, times: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  socket.pause();
  // More than the buffers at both ends of a connection hold.
  socket.write(fileRequest().repeat(60) + request.repeat(times));
  await sleep(500);
}

const deliver = () => stripe.deliver({ id: 'evt_1', type: 'payment_intent.succeeded', object: { id: 'pi_none' } });

describe('1,990 endless bodies of Stripe events', () => {
  test.each([
    ['without a signature', {}],
    ['with a wrong one', FAKE_SIGNATURE],
  ])('%s take no memory and delay no event of Stripe', async (_, headers) => {
    expect(await deliver()).toBe(200);
    const before = await heldMib();
    await flood('/webhooks/stripe', 256 * 1024, headers);
    await expectGrowth(before).toBeLessThan(32);
    expect(await deliver()).toBe(200);
  });

  test('with a wrong signature give way although they keep sending bytes', async () => {
    for (let begun = 0; begun < 40; begun++) {
      const socket = await stall('/webhooks/stripe', 256 * 1024, FAKE_SIGNATURE);
      const drip = setInterval(() => socket.write('x'), 20);
      socket.once('close', () => clearInterval(drip));
    }
    for (let sent = 0; sent < 20; sent++) expect(await deliver()).toBe(200);
  });
});

test('complete bodies behind unread responses take no slots', async () => {
  const head = Object.entries({ host: 'dashboard', 'content-length': '2', ...FAKE_SIGNATURE });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  for (let connections = 0; connections < 3; connections++)
    await pipeline(`POST /webhooks/stripe HTTP/1.1\r\n${lines}\r\n{}`, 40);
  for (let sent = 0; sent < 5; sent++) expect(await deliver()).toBe(200);
}, 20_000);

test('a thousand pipelined requests for a file whose responses are unread take no memory', async () => {
  const before = await heldMib();
  for (let connections = 0; connections < 4; connections++) await pipeline(fileRequest(), 900);
  await expectGrowth(before).toBeLessThan(8);
  expect((await fetch(`http://127.0.0.1:${port}/live`)).status).toBe(200);
});

test('1,990 endless bodies of forms take only the memory that all bodies share, and delay no other request', async () => {
  const before = await heldMib();
  await flood('/api/session', 64 * 1024, SAME_SITE);
  // The bound includes the memory of the connections themselves.
  await expectGrowth(before).toBeLessThan(96);
  const answer = await fetch(`http://127.0.0.1:${port}/api/session`, {
    method: 'POST',
    headers: { ...SAME_SITE, 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'nobody@example.com', password: 'wrong password' }),
  });
  expect([await answer.json(), await deliver()]).toEqual([expect.objectContaining({ problem: 'wrong_password' }), 200]);
});

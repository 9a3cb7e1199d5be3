import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, createServer, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { createDatabase } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { everyRow, findSecrets, type Places } from '../../harness/secret-places.ts';
import type { TestProcess } from '../../launchers/child-process.ts';
import { freePorts } from '../../launchers/free-ports.ts';
import { createBrowser } from '../dashboard/dashboard-browser.ts';
import { startDashboardProcess } from '../dashboard/dashboard-child.ts';
import { begin, startScriptedIssuer } from '../dashboard/scripted-issuer.ts';

/** Mail server, Stripe and issuer refuse requests, and quote the received secrets in the errors. */
const SECRETS = {
  MAIL: 'mail-sentinel-2c7d',
  OIDC_CLIENT_SECRET: 'client-sentinel-f18b',
  STRIPE_SECRET_KEY: 'sk_test_sentinel_90ae',
  STRIPE_WEBHOOK_SECRET: 'whsec_sentinel_5b3c',
};
const OPERATOR = 'operator@example.com';
const folder = mkdtempSync(join(tmpdir(), 'gw-dashboard-secrets-'));
/** Texts with secrets that the servers received. */
const quoted: string[] = [];
let smtp: TcpServer;
let stripe: Server;
const issuer = opened(startScriptedIssuer);
let dashboard: TestProcess;
let env: Readonly<Record<string, string>>;
let origin = '';

const portOf = (server: Server | TcpServer) => (server.address() as AddressInfo).port;
const listen = (server: Server | TcpServer) =>
  new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));

function startQuotingMailServer(): TcpServer {
  return createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write('220 mail\r\n');
    socket.on('data', (data) => {
      const line = data.toString();
      const told = Buffer.from(line.split(' ').at(-1) ?? '', 'base64')
        .toString()
        .replaceAll('\0', ' ');
      if (!line.startsWith('AUTH')) return void socket.write('250-mail\r\n250 AUTH PLAIN\r\n');
      quoted.push(told);
      socket.write(`535 wrong: ${told}\r\n`);
    });
  });
}

beforeAll(async () => {
  smtp = startQuotingMailServer();
  stripe = createHttpServer((request, response) => {
    const key = request.headers.authorization ?? '';
    quoted.push(key);
    const error = { type: 'invalid_request_error', message: `Invalid API Key provided: ${key}` };
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  });
  issuer.instead.set('/token', (request, response) => {
    const [, pair = ''] = (request.headers.authorization ?? '').split(' ');
    const told = decodeURIComponent(Buffer.from(pair, 'base64').toString());
    quoted.push(told);
    const body = { error: 'invalid_client', error_description: `wrong: ${told}` };
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await Promise.all([listen(smtp), listen(stripe)]);
  const [port = 0] = await freePorts(1);
  origin = `http://127.0.0.1:${port}`;
  const path = join(folder, 'gateway.yaml');
  const reference = (name: string) => `\${${name}}`;
  writeFileSync(
    path,
    JSON.stringify({
      listen: { dashboard: `127.0.0.1:${port}` },
      providers: {},
      models: {},
      mail: {
        smtp_url: `smtp://gateway:${reference('MAIL')}@127.0.0.1:${portOf(smtp)}`,
        from: 'a@example.com',
        operators: [OPERATOR],
      },
      sign_in: { oidc: { issuer: issuer.url, client_id: 'gateway', client_secret: reference('OIDC_CLIENT_SECRET') } },
      payments: {
        stripe: {
          secret_key: reference('STRIPE_SECRET_KEY'),
          webhook_secret: reference('STRIPE_WEBHOOK_SECRET'),
          api_base: `http://127.0.0.1:${portOf(stripe)}`,
        },
      },
    }),
  );
  const databaseUrl = await createDatabase();
  env = { ...SECRETS, GATEWAY_CONFIG: path, GATEWAY_DATA: folder, DATABASE_URL: databaseUrl, LOG_LEVEL: 'trace' };
  dashboard = await startDashboardProcess({ env });
});

afterAll(async () => {
  await dashboard?.end();
  for (const server of [smtp, stripe]) server?.close();
  rmSync(folder, { recursive: true });
});

test('secrets that a server quotes in an error reach no log, response, row or finding', async () => {
  const operate = async (...args: string[]) => {
    const result = await runCommandLine(args, env);
    if (result.kind !== 'done') throw new Error(`${args.join(' ')}: ${result.message}`);
    return result.json as { id: string; password: string };
  };
  const { id } = await operate('org', 'create', '--name', 'Acme');
  const email = 'owner@example.com';
  const { password } = await operate('user', 'create', '--email', email, '--operator');
  const browser = createBrowser(origin);
  const answers: string[] = [];
  const send = async (method: string, path: string, body?: object) => {
    const { status, text } = await browser.send(method, path, body);
    answers.push(text);
    return status;
  };
  expect(await send('POST', '/api/session', { email, password })).toBe(200);
  expect(await send('POST', `/api/organizations/${id}/top-ups`, { amountUsd: 10 })).toBeGreaterThanOrEqual(500);
  expect(await send('POST', `/api/organizations/${id}/card`)).toBeGreaterThanOrEqual(500);
  expect(await send('POST', '/api/alerts/test')).toBe(200);
  const person = createBrowser(origin);
  const query = await begin(person, issuer);
  const refused = await person.send('POST', '/api/oidc/session', { query });
  expect(refused.status).toBeGreaterThanOrEqual(400);
  answers.push(refused.text);
  const deliveries = () => browser.get('/api/alerts').then(({ text }) => text);
  await expect.poll(deliveries).toContain('the mail server refused the login');
  answers.push(await deliveries());
  const examined = await runCommandLine(['doctor'], env);
  answers.push(JSON.stringify(examined));

  // Each secret was sent to its server and quoted.
  const { STRIPE_WEBHOOK_SECRET: _, ...sent } = SECRETS;
  for (const secret of Object.values(sent)) expect(quoted.join('\n')).toContain(secret);
  const places: Places = new Map([
    ['log', dashboard.output()],
    ['answers', answers.join('\n')],
    ['the database', await everyRow(env.DATABASE_URL ?? '')],
  ]);
  expect(places.get('log')).toContain('"level"');
  expect(findSecrets(places, SECRETS)).toEqual([]);
});

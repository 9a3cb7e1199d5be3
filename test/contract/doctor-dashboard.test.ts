import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import type { Finding } from '#operator/doctor/check.ts';
import { type MailServer, startMailServer } from '../integration/dashboard/alert-receivers.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';

/** The doctor's checks of sections for the dashboard: mail, sign-in by an issuer, payments. */
const folder = mkdtempSync(join(tmpdir(), 'gw-doctor-dashboard-'));
const configPath = join(folder, 'gateway.yaml');
const SECRETS = {
  SMTP_URL: '',
  OIDC_CLIENT_SECRET: 'client-secret-sentinel',
  STRIPE_SECRET_KEY: 'sk_test_secret_sentinel',
  STRIPE_WEBHOOK_SECRET: 'whsec_webhook_sentinel',
};
/** The issuer's client, as in the header of a request for tokens. */
const CLIENT = `gateway:${encodeURIComponent(SECRETS.OIDC_CLIENT_SECRET).replaceAll('-', '%2D')}`;
const JSON_TYPE = { 'content-type': 'application/json' };
const PASSWORD = 'mail-password-sentinel';
let mail: MailServer;
let stripe: ScriptedStripe;
let issuer: Server;
let origin = '';
/** The issuer's name in its metadata. */
let describedAs = '';

beforeAll(async () => {
  mail = await startMailServer({ user: 'gateway', password: PASSWORD });
  stripe = await startScriptedStripe();
  issuer = createServer((request, response) => {
    const { authorization = '' } = request.headers;
    const takesClient = Buffer.from(authorization.slice('Basic '.length), 'base64').toString() === CLIENT;
    const error = takesClient ? 'invalid_grant' : 'invalid_client';
    if (request.url === '/t') return void response.writeHead(400, JSON_TYPE).end(JSON.stringify({ error }));
    const at = (path: string) => `${origin}/${path}`;
    const endpoints = { authorization_endpoint: at('a'), token_endpoint: at('t'), jwks_uri: at('k') };
    response.writeHead(200, JSON_TYPE).end(JSON.stringify({ issuer: describedAs, ...endpoints }));
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  describedAs = origin;
});
afterAll(async () => {
  issuer.closeAllConnections();
  issuer.close();
  await Promise.all([mail?.close(), stripe?.close()]);
  rmSync(folder, { recursive: true });
});

function configure(dashboard = '', listensOn = '127.0.0.1:2'): void {
  const reference = (name: string) => `"\${${name}}"`;
  const text = [
    `listen: {api: 127.0.0.1:1, dashboard: "${listensOn}", metrics: 127.0.0.1:3}`,
    'providers: {}',
    'models: {}',
    dashboard,
    `mail: {smtp_url: ${reference('SMTP_URL')}, from: "Gateway <noreply@example.com>"}`,
    `sign_in: {oidc: {issuer: "${origin}", client_id: gateway, client_secret: ${reference('OIDC_CLIENT_SECRET')}}}`,
    `payments: {stripe: {secret_key: ${reference('STRIPE_SECRET_KEY')}, webhook_secret: ${reference('STRIPE_WEBHOOK_SECRET')}, api_base: "${stripe.config.apiBase.origin}"}}`,
  ];
  writeFileSync(configPath, text.join('\n'));
}

const smtpUrl = (password = PASSWORD) => `smtp://gateway:${password}@127.0.0.1:${mail.port}`;

async function run(command: string, env: Readonly<Record<string, string>>): Promise<{ json: unknown; text: string }> {
  const result = await runCommandLine([command], { GATEWAY_CONFIG: configPath, GATEWAY_DATA: folder, ...env });
  if (result.kind === 'usage') throw new Error(result.message);
  const text = result.kind === 'done' ? result.text : result.message;
  for (const secret of [PASSWORD, 'wrong-sentinel', ...Object.values(env)])
    expect(`${text}${JSON.stringify(result.json)}`).not.toContain(secret);
  return { json: result.json, text };
}

async function doctor(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { findings } = (await run('doctor', env)).json as { readonly findings: readonly Finding[] };
  return findings
    .filter(({ check }) => ['dashboard address', 'mail', 'sign-in', 'payments'].includes(check))
    .map(({ check, verdict, found }) => `${verdict} ${check}: ${found}`);
}

it('if all works, the doctor logs in to the mail server, discovers the issuer, and calls Stripe', async () => {
  configure('dashboard: {url: https://dashboard.example.com}');
  const before = [mail.mails.length, stripe.calls.length];
  expect(await doctor({ ...SECRETS, SMTP_URL: smtpUrl() })).toEqual([
    'ok dashboard address: dashboard.url is https://dashboard.example.com/',
    `ok mail: 127.0.0.1:${mail.port} answers and takes the login`,
    `ok sign-in: ${origin} describes itself as sign_in.oidc expects, and does not refuse the client`,
    `ok payments: ${stripe.config.apiBase.host} takes the key, in test mode: no card is charged`,
  ]);
  expect([mail.mails.length, stripe.calls.length]).toEqual([before[0], (before[1] ?? 0) + 1]);
  const live = await doctor({ ...SECRETS, SMTP_URL: smtpUrl(), STRIPE_SECRET_KEY: 'rk_live_sentinel' });
  expect(live.at(-1)).toMatch(/in live mode: cards are charged$/);
});

it('each failure is described in words', async () => {
  configure();
  describedAs = 'https://another.example.com';
  stripe.away = true;
  const found = await doctor({ ...SECRETS, SMTP_URL: smtpUrl('wrong-sentinel') });
  stripe.away = false;
  describedAs = origin;
  expect(found).toEqual([
    'warning dashboard address: dashboard.url is not set, and mail, sign_in.oidc, payments lead people to the dashboard',
    `problem mail: 127.0.0.1:${mail.port}: the mail server refused the login (535)`,
    expect.stringMatching(/^problem sign-in: http:\S+: .*issuer/i),
    `problem payments: ${stripe.config.apiBase.host} does not answer`,
  ]);
});

it('a secret that the issuer no longer takes is found', async () => {
  configure();
  expect(await doctor({ ...SECRETS, SMTP_URL: smtpUrl(), OIDC_CLIENT_SECRET: 'replaced-sentinel' })).toContainEqual(
    expect.stringMatching(/^problem sign-in: http:\S+: sign_in\.oidc\.client_id or client_secret is refused/),
  );
});

it('check-config summarizes the sections; without their secrets doctor skips them, but not where the dashboard runs', async () => {
  configure();
  expect((await run('check-config', { ...SECRETS, SMTP_URL: smtpUrl() })).text.split('\n').slice(0, 4)).toEqual([
    `${configPath} is valid.`,
    `mail: by 127.0.0.1:${mail.port}, from Gateway <noreply@example.com>`,
    `sign-in: ${origin}, or a password`,
    `payments: ${stripe.config.apiBase.host}, 5 to 5000 USD`,
  ]);
  expect((await run('check-config', {})).text).toMatch(/STRIPE_SECRET_KEY.*the dashboard needs it/);
  expect(await doctor({})).toEqual([]);
  const missing = async () => {
    const { json, text } = await run('doctor', {});
    const { findings } = json as { readonly findings: readonly Finding[] };
    const secrets = findings.filter(({ found }) => found.includes('the dashboard needs it'));
    return { text, secrets: secrets.map(({ verdict, advice }) => [verdict, advice]) };
  };
  const elsewhere = await missing();
  expect(elsewhere.secrets).toEqual(Array(4).fill(['skipped', expect.stringContaining('where the dashboard runs')]));
  expect(elsewhere.text).toMatch(/, \d+ skipped\.$/);
  configure('', new URL(origin).host);
  expect((await missing()).secrets).toEqual(Array(4).fill(['warning', expect.stringContaining('Set it')]));
});

it('the advice on a missing secret differs from that on a price list without all prices, which may be meant', async () => {
  writeFileSync(
    configPath,
    `providers: {a: {base_url: "http://127.0.0.1:1/v1", api_key: "\${ODD_KEY}"}}
models: {m: {context_window: 9, max_output_tokens: 9, usd_per_million_tokens: {input: 1, output: 2, cached_input: 1}, targets: [{provider: a, model: m}]}}
price_lists: {partner: {m: {input: 1, output: 2}}}
`,
  );
  const { findings } = (await run('doctor', {})).json as { readonly findings: readonly Finding[] };
  const told = findings.filter(({ check }) => check === 'configuration').map(({ found, advice }) => [found, advice]);
  expect(told.slice(1)).toEqual([
    [expect.stringContaining('ODD_KEY is not set'), 'Set it, let this user read it, or remove it.'],
    [expect.stringContaining('price_lists.partner.m: has no cached_input'), 'Correct it, unless it is meant.'],
  ]);
});

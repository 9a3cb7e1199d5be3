import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { setDisabled } from '#database/users/users.ts';
import { BY } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser, Headers } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const ORIGIN = 'https://dashboard.example.com';

const dashboard = opened(startDashboard);
let organizationId: string;
let owner: Browser;
let keysPath: string;

beforeAll(async () => {
  organizationId = await dashboard.addOrganization();
  owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
  keysPath = `/api/organizations/${organizationId}/keys`;
});
afterEach(() => dashboard.configure({}));

const newKey = (headers: Headers, body: unknown = { name: 'k', scopes: ['chat'] }) =>
  owner.send('POST', keysPath, body, headers);
const keys = async () => (await owner.get<{ keys: unknown[] }>(keysPath)).body.keys.length;

describe('a request that changes something', () => {
  const cases: readonly [what: string, headers: Headers, isServed: boolean][] = [
    ['from the page', {}, true],
    ['of a browser that says the origin only', { 'sec-fetch-site': undefined }, true],
    ['of a browser that says no origin, but where it comes from', { origin: undefined }, true],
    ['that does not say where it comes from', { origin: undefined, 'sec-fetch-site': undefined }, false],
    ['from another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, false],
    ['from another site, of an old browser', { origin: 'https://evil.example', 'sec-fetch-site': undefined }, false],
    ['from a neighbour of the same site', { origin: undefined, 'sec-fetch-site': 'same-site' }, false],
    ['from nowhere in particular', { origin: undefined, 'sec-fetch-site': 'none' }, false],
    ['from a sandboxed frame or a file', { origin: 'null', 'sec-fetch-site': undefined }, false],
    ['from another port', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': undefined }, false],
  ];
  it.each(cases)('%s', async (_, headers, isServed) => {
    const before = await keys();
    const { status, body } = await newKey(headers);
    expect([status, body.problem]).toEqual(isServed ? [200, undefined] : [403, 'cross_site']);
    expect(await keys()).toBe(before + (isServed ? 1 : 0));
  });

  it('is refused before its sender is authenticated', async () => {
    const headers = { origin: 'https://evil.example' };
    const reply = await dashboard.browser().send('POST', '/api/session', { email: 'a', password: 'b' }, headers);
    expect(reply.body.problem).toBe('cross_site');
  });

  it('must come from the configured origin, whatever its Host header is', async () => {
    dashboard.configure({ url: new URL(ORIGIN) });
    owner.cookies.set('__Host-gateway_session', owner.cookies.get('gateway_session') ?? '');
    expect((await newKey({ origin: ORIGIN })).status).toBe(200);
    expect((await newKey({})).body.problem).toBe('cross_site');
    const rebound = { host: 'evil.example', origin: 'http://evil.example' };
    expect((await newKey(rebound)).body.problem).toBe('cross_site');
  });

  it.each([
    ['terminates TLS', (own: string) => ({ origin: own.replace('http:', 'https:') })],
    ['has its own Host header', () => ({ origin: 'http://10.0.0.7', 'sec-fetch-site': undefined })],
    ['does both', () => ({ origin: 'https://dashboard.example.com' })],
  ])('gets a hint at `dashboard.url` in case a proxy in front %s', async (_, headers) => {
    expect((await newKey(headers(dashboard.origin))).body.message).toContain('`dashboard.url`');
  });
});

describe('a request that only reads', () => {
  it.each([
    ['same-origin', 200],
    ['none', 200],
    [undefined, 200],
    ['cross-site', 403],
    ['same-site', 403],
  ])('from %s gets status %s', async (site, status) => {
    expect((await owner.get(keysPath, { 'sec-fetch-site': site })).status).toBe(status);
  });
});

describe('a body', () => {
  const good = JSON.stringify({ name: 'k', scopes: ['chat'] });
  it.each([
    ['as a form', { 'content-type': 'application/x-www-form-urlencoded' }, good, 'The body must be JSON.'],
    ['as text', { 'content-type': 'text/plain' }, good, 'The body must be JSON.'],
    ['of no type', { 'content-type': undefined }, good, 'The body must be JSON.'],
    ['of a type that begins alike', { 'content-type': 'application/jsonp' }, good, 'The body must be JSON.'],
    ['that is cut off', {}, good.slice(0, -1), 'The body must be JSON.'],
    ['that is a list', {}, '[]', undefined],
    ['that is null', {}, 'null', undefined],
    ['with a field too many', {}, '{"name":"k","scopes":["chat"],"isOperator":true}', undefined],
    ['with __proto__', {}, '{"name":"k","scopes":["chat"],"__proto__":{"a":1}}', undefined],
    ['that is empty', {}, '', undefined],
  ])('%s is refused', async (_, headers, body, message) => {
    const before = await keys();
    const reply = await newKey(headers, body);
    expect([reply.status, reply.body.problem]).toEqual([400, 'invalid']);
    if (message !== undefined) expect(reply.body.message).toBe(message);
    expect(await keys()).toBe(before);
  });

  it('may name its character set', async () => {
    expect((await newKey({ 'content-type': 'Application/JSON; charset=utf-8' })).status).toBe(200);
  });

  const padded = (bytes: number) => good + ' '.repeat(bytes - good.length);
  it('has at most 64 KiB, with a content-length or without', async () => {
    expect((await newKey({}, padded(65_536))).status).toBe(200);
    const chunked = { 'transfer-encoding': 'chunked' };
    expect((await newKey(chunked, padded(65_536))).status).toBe(200);
    for (const headers of [{}, chunked]) {
      const { status, body } = await newKey(headers, padded(65_537));
      expect([status, body.problem]).toEqual([413, 'too_large']);
    }
    expect((await newKey({}, padded(66_560))).status).toBe(413);
  });

  it('changes nothing if its sender loses access before it has arrived', async () => {
    const user = await dashboard.addUser({ in: [organizationId, 'owner'] });
    const leaving = await dashboard.signedIn(user);
    const before = await keys();
    const url = `${dashboard.origin}${keysPath}`;
    const headers = {
      origin: dashboard.origin,
      cookie: `gateway_session=${leaving.cookies.get('gateway_session')}`,
      'content-type': 'application/json',
      'content-length': String(good.length),
    };
    const slow = request(url, { method: 'POST', headers });
    const answered = once(slow, 'response');
    slow.write(good.slice(0, 1));
    // A read on another connection takes long enough for the server to have begun the slow
    // request.
    expect((await leaving.get(keysPath)).status).toBe(200);
    await setDisabled(dashboard.database, user.id, true, BY);
    slow.end(good.slice(1));
    const [answer] = (await answered) as [IncomingMessage];
    answer.resume();
    expect([answer.statusCode, await keys()]).toEqual([401, before]);
  });

  it('above the limit is refused without a session too', async () => {
    const reply = await dashboard.browser().send('POST', '/api/session', padded(66_560));
    expect(reply.status).toBe(413);
  });
});

describe('every response', () => {
  const HEADERS = {
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
      "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  };

  it('has the security headers, and those of the API are not cached', async () => {
    const stranger = dashboard.browser();
    const replies = {
      200: await owner.get(keysPath),
      400: await newKey({}, '['),
      401: await stranger.get('/api/session'),
      403: await newKey({ origin: 'https://evil.example' }),
      404: await owner.get('/api/nothing'),
      413: await newKey({}, 'x'.repeat(66_560)),
    };
    for (const [status, reply] of Object.entries(replies)) {
      expect(reply.status).toBe(Number(status));
      expect(reply.headers).toMatchObject({ ...HEADERS, 'cache-control': 'no-store' });
      expect(reply.headers['content-type']).toBe('application/json');
    }
    const others = [
      await stranger.get('/'),
      await stranger.get('/assets/none.js'),
      await stranger.get('/live'),
      await stranger.send('POST', '/live'),
      await stranger.send('OPTIONS', '/api/session'),
      await stranger.send('TRACE', '/api/session').catch(() => replies[404]),
    ];
    for (const { headers } of others) expect(headers).toMatchObject(HEADERS);
    expect(others.map(({ headers }) => headers['strict-transport-security'])).toEqual(others.map(() => undefined));
    expect(others.map(({ headers }) => headers['access-control-allow-origin'])).toEqual(others.map(() => undefined));
  });

  it('has Strict-Transport-Security if the configured URL is https', async () => {
    dashboard.configure({ url: new URL(ORIGIN) });
    const { headers } = await dashboard.browser().get('/api/session');
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
  });
});

import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { sql } from '../../harness/database.ts';
import { untilQuarterIsYoung } from '../../harness/young-window.ts';
import { startDashboard, type TestDashboard } from './dashboard-server.ts';
import { begin, finish, newKey, type ScriptedIssuer, signInAt, startScriptedIssuer } from './scripted-issuer.ts';

/** If the issuer or somebody in its place violates the protocol, nobody is signed in. */
const SOMEBODY = { sub: 'somebody', email: 'somebody@example.com', groups: ['ops'] };
const dashboards: TestDashboard[] = [];
const issuers: ScriptedIssuer[] = [];
let dashboard: TestDashboard;
let issuer: ScriptedIssuer;

beforeEach(async () => {
  issuer = await startScriptedIssuer();
  dashboard ??= await startDashboard();
  if (dashboards.length === 0) dashboards.push(dashboard);
  issuers.push(issuer);
  dashboard.configure({ signIn: issuer.signIn });
  // All tests together have more failed sign-ins than one address may have.
  await sql(dashboard.databaseUrl, 'truncate sign_in_attempts');
});
afterAll(async () => {
  for (const one of issuers) await one.close();
  for (const one of dashboards) await one.close();
});

test('a sign-in that follows the protocol succeeds, so the other tests fail for their own reasons', async () => {
  const browser = dashboard.browser();
  const { status, body } = await signInAt(browser, issuer, SOMEBODY);
  expect([status, body.user?.email, body.user?.isOperator, body.signedInBy]).toEqual([
    200,
    'somebody@example.com',
    true,
    'issuer',
  ]);
});

const now = Math.floor(Date.now() / 1000);
test.each<[string, Record<string, unknown>, Record<string, unknown>?]>([
  ['another issuer', { iss: 'https://other.example.com' }],
  ['another audience', { aud: 'another-client' }],
  ['an expired token', { exp: now - 600, iat: now - 900 }],
  ['a token from the future', { iat: now + 900, exp: now + 1_200 }],
  ['a token that another client requested', { azp: 'another-client' }],
  ['another nonce', { nonce: 'another' }],
  ['no nonce', { nonce: undefined }],
  ['no subject', { sub: undefined }],
  ['a subject that is too long', { sub: 'x'.repeat(256) }],
  ['a subject with a zero byte', { sub: 'a\u0000b' }],
  ['a time of sign-in that is none', { auth_time: 'x' }],
  ['a time of sign-in before all time', { auth_time: -1e300 }],
  ['no signature', {}, { alg: 'none' }],
  ['a signature with the secret of the client', {}, { alg: 'HS256' }],
])('%s signs nobody in', async (_, claims, header = {}) => {
  issuer.header = header;
  const browser = dashboard.browser();
  const reply = await signInAt(browser, issuer, { ...SOMEBODY, ...claims });
  expect([reply.status, reply.body.problem]).toEqual([403, 'identity_refused']);
  expect(browser.cookies.has('gateway_session')).toBe(false);
});

test('a token that is signed by another key signs nobody in', async () => {
  issuer.key = newKey();
  expect((await signInAt(dashboard.browser(), issuer, SOMEBODY)).body.problem).toBe('identity_refused');
});

test('a key that the issuer does not publish yet asks people to try again in a minute', async () => {
  issuer.header = { kid: 'two' };
  const reply = await signInAt(dashboard.browser(), issuer, SOMEBODY);
  expect([reply.status, reply.body.problem]).toEqual([503, 'issuer_unavailable']);
});

test.each<[string, unknown]>([
  ['not verified', false],
  ['not said to be verified', undefined],
  ['verified by another word', 'yes'],
])('an address that is %s signs nobody in', async (_, email_verified) => {
  const reply = await signInAt(dashboard.browser(), issuer, { ...SOMEBODY, email_verified });
  expect([reply.status, reply.body.problem]).toEqual([403, 'email_unverified']);
});

test.each<[string, object, string, RegExp]>([
  ['no address', { email: undefined }, 'email_unverified', /^email is missing/],
  ['an address that is not ASCII', { email: 'ü@example.com' }, 'email_unverified', /not ASCII/],
  ['an address that is not verified', { email_verified: false }, 'email_unverified', /email_verified is not true/],
  ['a subject that is too long', { sub: 'x'.repeat(256) }, 'identity_refused', /^sub is not/],
])('%s is in the log with the reason, without the address', async (_, claims, shown, reason) => {
  const reasons = loggedReasons();
  const reply = await signInAt(dashboard.browser(), issuer, { ...SOMEBODY, ...claims });
  expect([reply.status, reply.body.problem]).toEqual([403, shown]);
  expect(reasons()).toEqual([expect.stringMatching(reason)]);
  expect(reasons().join()).not.toContain('example.com');
});

test.each<[string, number, object, object, RegExp]>([
  ['a secret', 401, {}, { error: 'invalid_client' }, /client_secret is refused.*invalid_client: status 401/],
  ['a secret by a challenge', 401, { 'www-authenticate': 'Basic realm="x"' }, {}, /client_secret is refused.*401/],
  ['a redirect URI', 400, {}, { error: 'invalid_request' }, /^OAUTH.*invalid_request: status 400/],
  ['everything with an error page', 502, {}, {}, /^OAUTH.*status 502/],
])('an issuer that refuses %s is in the log with its error and status', async (_, status, headers, body, reason) => {
  const reasons = loggedReasons();
  issuer.instead.set('/token', (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  expect((await signInAt(dashboard.browser(), issuer, SOMEBODY)).body.problem).toBe('issuer_unavailable');
  expect(reasons()).toEqual([expect.stringMatching(reason)]);
});

function loggedReasons(): () => readonly unknown[] {
  const warn = vi.spyOn(dashboard.log, 'warn');
  onTestFinished(() => warn.mockRestore());
  return () => warn.mock.calls.map(([about]) => (about as unknown as { readonly reason: string }).reason);
}

test('a response that the browser did not request, or has already used, signs nobody in', async () => {
  const attacker = dashboard.browser();
  const query = await begin(attacker, issuer, SOMEBODY);
  // Login CSRF: the attacker's response in the victim's browser.
  const victim = dashboard.browser();
  expect((await finish(victim, query)).body.problem).toBe('sign_in_expired');
  await begin(victim, issuer, SOMEBODY);
  expect((await finish(victim, query)).body.problem).toBe('sign_in_expired');
  expect(issuer.asked).not.toContain('/token');
  const own = await begin(attacker, issuer, SOMEBODY);
  const flow = attacker.cookies.get('gateway_oidc') ?? '';
  expect((await finish(attacker, own)).status).toBe(200);
  expect((await finish(attacker, own)).body.problem).toBe('sign_in_expired');
  // The scripted issuer accepts a code twice, so the dashboard itself must refuse it.
  attacker.cookies.set('gateway_oidc', flow);
  expect((await finish(attacker, own)).body.problem).toBe('sign_in_expired');
});

test('an error of the issuer is reported in our own words', async () => {
  const browser = dashboard.browser();
  const query = (await begin(browser, issuer)).replace(
    /code=[^&]+/,
    'error=access_denied&error_description=evil+words',
  );
  const { body, text } = await finish(browser, query);
  expect([body.problem, text.includes('evil')]).toEqual(['issuer_refused', false]);
});

test.each<[string, (path: string) => void]>([
  [
    'redirects',
    (path) =>
      issuer.instead.set(
        path,
        (_, response) => void response.writeHead(302, { location: `${issuer.url}/elsewhere` }).end(),
      ),
  ],
  ['fails', (path) => issuer.instead.set(path, (_, response) => void response.writeHead(500).end('no'))],
  ['sends no JSON', (path) => issuer.instead.set(path, (_, response) => void response.end('<html>'))],
  ['hangs up', (path) => issuer.instead.set(path, (request) => void request.socket.destroy())],
  [
    'never ends',
    (path) =>
      issuer.instead.set(
        path,
        (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      ),
  ],
  [
    'sends without end',
    (path) =>
      issuer.instead.set(path, (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = () => {
          while (response.write(' '.repeat(65_536)));
        };
        response.on('drain', more);
        more();
      }),
  ],
])('an issuer whose token endpoint %s is reported as unavailable, and affects nobody else', async (_, arrange) => {
  arrange('/token');
  const [slow, live] = await Promise.all([
    signInAt(dashboard.browser(), issuer, SOMEBODY),
    dashboard.browser().send('POST', '/api/session', { email: 'x@example.com', password: 'wrong' }),
  ]);
  expect([slow.status, slow.body.problem, live.body.problem]).toEqual([503, 'issuer_unavailable', 'wrong_password']);
  expect(issuer.asked).not.toContain('/elsewhere');
});

const DISCOVERY = '/.well-known/openid-configuration';
test.each<[string, () => void]>([
  ['is away', () => issuer.instead.set(DISCOVERY, (request) => void request.socket.destroy())],
  ['calls itself another one', () => Object.assign(issuer, { metadata: { issuer: 'https://other.example.com' } })],
  [
    'sends browsers to a script',
    () => Object.assign(issuer, { metadata: { authorization_endpoint: 'javascript:alert(1)' } }),
  ],
  [
    'sends browsers without TLS elsewhere',
    () => Object.assign(issuer, { metadata: { authorization_endpoint: 'http://evil.example.com/' } }),
  ],
])('an issuer that %s begins no sign-in', async (_, arrange) => {
  arrange();
  const reply = await dashboard.browser().send('POST', '/api/oidc/authorization');
  expect([reply.status, reply.body.problem]).toEqual([503, 'issuer_unavailable']);
  expect(reply.text).not.toContain('evil');
});

test.each([
  'http://169.254.169.254/token',
  'https://169.254.169.254/token',
  'https://[::1]/token',
  'https://redis/token',
  'https://metadata.google.internal/token',
])('a token endpoint at %s is not called', async (token_endpoint) => {
  issuer.metadata = { token_endpoint };
  const reply = await signInAt(dashboard.browser(), issuer, SOMEBODY);
  expect(reply.status).toBe(503);
});

test('a subject of an issuer that is replaced during its sign-in is none of the next issuer', async () => {
  const next = await startScriptedIssuer();
  issuers.push(next);
  dashboard.configure({ signIn: next.signIn });
  await signInAt(dashboard.browser(), next, SOMEBODY);
  dashboard.configure({ signIn: issuer.signIn });
  const browser = dashboard.browser();
  const query = await begin(browser, issuer, { ...SOMEBODY, email: 'another@example.com' });
  issuer.instead.set('/userinfo', (_, response) => {
    dashboard.configure({ signIn: next.signIn });
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ sub: SOMEBODY.sub }));
  });
  issuer.claims = { ...issuer.claims, groups: undefined };
  expect((await finish(browser, query)).body.problem).toBe('sign_in_expired');
  expect((await browser.get('/api/session')).status).toBe(401);
});

test('an operator claim that the configuration changes during a sign-in grants nothing', async () => {
  const browser = dashboard.browser();
  const query = await begin(browser, issuer, { sub: 'late', email: 'late@example.com' });
  issuer.instead.set('/userinfo', (_, response) => {
    const { oidc } = issuer.signIn;
    if (oidc === undefined) throw new Error('the issuer signs nobody in');
    const operatorClaim = { name: 'groups', value: 'others' };
    dashboard.configure({ signIn: { ...issuer.signIn, oidc: { ...oidc, operatorClaim } } });
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ sub: 'late', groups: ['ops'] }));
  });
  expect((await finish(browser, query)).body.problem).toBe('no_account');
});

test('wrong passwords from an address do not block single sign-on from there', async () => {
  await untilQuarterIsYoung();
  const statuses = new Set<number>();
  for (let i = 0; i < 31; i++) {
    const wrong = { email: `nobody-${i}@example.com`, password: 'wrong' };
    statuses.add((await dashboard.browser().send('POST', '/api/session', wrong)).status);
  }
  expect(statuses).toContain(429);
  expect((await signInAt(dashboard.browser(), issuer, SOMEBODY)).status).toBe(200);
});

test('attempts from one address are bounded before the issuer is called', async () => {
  await untilQuarterIsYoung();
  issuer.instead.set('/token', (_, response) => void response.writeHead(500).end());
  const problems = new Set<string | undefined>();
  for (let i = 0; i < 35; i++) problems.add((await signInAt(dashboard.browser(), issuer, SOMEBODY)).body.problem);
  expect([...problems]).toContain('too_many_attempts');
  expect(issuer.asked.filter((path) => path === '/token').length).toBeLessThanOrEqual(30);
});

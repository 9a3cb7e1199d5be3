import pg from 'pg';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '#contract/session.ts';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { setDisabled } from '#database/users/users.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { untilQuarterIsYoung } from '../../harness/young-window.ts';
import { type Browser, createBrowser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const PASSWORD = 'correct horse battery';
const COOKIE = 'gateway_session';

const dashboard = opened(() => startDashboard({ trustedProxies: ['127.0.0.1'] }));
let passwordHash: string;
let proxied = 0;

beforeAll(async () => {
  passwordHash = await hashPassword(PASSWORD);
});

const addUser = () => dashboard.addUser({ passwordHash });
/**
 * An address without attempts, so that tests do not share a limit.
 */
const elsewhere = () => ({ 'x-forwarded-for': `198.51.100.${++proxied}` });
const session = (browser: Browser) => browser.get<SessionView>('/api/session');

function signIn(browser: Browser, email: string, password = PASSWORD, headers: Record<string, string> = elsewhere()) {
  return browser.send<SessionView>('POST', '/api/session', { email, password }, headers);
}

function auditOf(userId: string) {
  return sql<{ action: string; actor: string; address: string; actor_user_id: string | null }>(
    dashboard.databaseUrl,
    `select action, actor, address, actor_user_id from audit_log
     where subject_id = '${userId}' and action <> 'user.created' order by id`,
  );
}

describe('signing in', () => {
  it('begins a session whose token is only in the cookie', async () => {
    const organizationId = await dashboard.addOrganization('Acme');
    const { id, email } = await dashboard.addUser({ passwordHash, in: [organizationId, 'owner'] });
    const browser = dashboard.browser();
    const from = { 'x-forwarded-for': '203.0.113.9' };
    const { status, body, text, headers } = await signIn(browser, ` ${email.toUpperCase()} `, PASSWORD, from);
    expect(status).toBe(200);
    const view = {
      user: { id, email, isOperator: false },
      organizations: [{ id: organizationId, name: 'Acme', role: 'owner', suspended: false }],
      apiUrl: 'http://127.0.0.1:8080/v1',
      apis: [],
      signedInBy: 'password',
    };
    expect(body).toEqual(view);
    expect((await session(browser)).body).toEqual(view);
    const token = browser.cookies.get(COOKIE) ?? '';
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(text).not.toContain(token);
    expect(headers['set-cookie']?.[0]).toBe(`${COOKIE}=${token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax`);
    const kept = await sql(dashboard.databaseUrl, `select * from sessions where user_id = '${id}'`);
    expect(kept).toMatchObject([{ address: '203.0.113.9' }]);
    expect(JSON.stringify(kept)).not.toContain(token);
    expect(await auditOf(id)).toEqual([
      { action: 'user.signed_in', actor: email, address: '203.0.113.9', actor_user_id: id },
    ]);
  });

  it.each([
    ['of a configured https origin', { url: new URL('https://d.example') }, { origin: 'https://d.example' }],
    ['behind a proxy that ends TLS', {}, { 'x-forwarded-proto': 'https' }],
  ])('behind TLS, %s, sets a cookie only for this host and TLS', async (_, settings, headers) => {
    dashboard.configure({ ...settings, trustedProxies: ['127.0.0.1'] });
    const { email } = await addUser();
    const origin = dashboard.origin.replace('http:', 'https:');
    const browser = dashboard.browser();
    const reply = await signIn(browser, email, PASSWORD, { origin, ...headers, ...elsewhere() });
    const token = browser.cookies.get(`__Host-${COOKIE}`);
    expect(reply.headers['set-cookie']).toEqual([
      `__Host-${COOKIE}=${token}; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Lax`,
      expect.stringMatching(
        /^__Host-gateway_browser=[\w-]{43}; Max-Age=15552000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
    expect((await browser.get('/api/session', headers)).status).toBe(200);
    // A cookie without the `__Host-` prefix could have been set over HTTP, so it is ignored.
    const downgraded = dashboard.browser();
    downgraded.cookies.set(COOKIE, token ?? '');
    expect((await downgraded.get('/api/session', headers)).status).toBe(401);
    dashboard.configure({ trustedProxies: ['127.0.0.1'] });
  });

  it('sets a new token every time, ends the former session of the browser and accepts no planted token', async () => {
    const { id, email } = await addUser();
    const browser = dashboard.browser();
    const planted = 'A'.repeat(43);
    browser.cookies.set(COOKIE, planted);
    await signIn(browser, email);
    const first = browser.cookies.get(COOKIE) ?? '';
    expect(first).not.toBe(planted);
    await signIn(browser, email);
    expect(browser.cookies.get(COOKIE)).not.toBe(first);
    for (const [token, status] of [
      [planted, 401],
      [first, 401],
      [browser.cookies.get(COOKIE) ?? '', 200],
    ] as const) {
      const other = createBrowser(dashboard.origin);
      other.cookies.set(COOKIE, token);
      expect((await session(other)).status).toBe(status);
    }
    expect((await auditOf(id)).map(({ action }) => action)).toEqual([
      'user.signed_in',
      'user.signed_in',
      'user.signed_out',
    ]);
  });

  it('fails in the same way for a wrong password and for unknown, invited and disabled users', async () => {
    const known = await addUser();
    const disabled = await addUser();
    await setDisabled(dashboard.database, disabled.id, true, BY);
    const invited = await dashboard.addUser({ invited: true });
    const attempts = [
      [known.email, 'wrong'],
      [known.email, ''],
      [known.email, PASSWORD.toUpperCase()],
      [disabled.email, PASSWORD],
      [invited.email, PASSWORD],
      [invited.email, ''],
      ['nobody@example.com', PASSWORD],
      ['', PASSWORD],
      ['no address', PASSWORD],
    ] as const;
    const answers = new Set<string>();
    for (const [email, password] of attempts) {
      const { status, text, headers } = await signIn(dashboard.browser(), email, password);
      expect(headers).not.toHaveProperty('set-cookie');
      answers.add(`${status} ${text}`);
    }
    const message = 'The email address or the password is wrong.';
    expect([...answers]).toEqual([`403 ${JSON.stringify({ problem: 'wrong_password', message })}`]);
    for (const { id } of [known, invited, disabled]) {
      const failed = async () => (await auditOf(id)).find(({ action }) => action === 'user.sign_in_failed');
      await expect.poll(failed).toMatchObject({ actor: 'somebody', actor_user_id: null });
    }
  });

  it('responds before it writes the event, so that timing does not reveal whether an account exists', async () => {
    const { id, email } = await addUser();
    const failed = async () => (await auditOf(id)).find(({ action }) => action === 'user.sign_in_failed');
    const client = new pg.Client({ connectionString: dashboard.databaseUrl });
    await client.connect();
    await client.query('begin; lock table audit_log in exclusive mode');
    // Closing the connection releases the lock in every case.
    const { status } = await signIn(dashboard.browser(), email, 'wrong').finally(() => client.end());
    expect(status).toBe(403);
    await expect.poll(failed).toMatchObject({ actor: 'somebody' });
  });

  it('stores no address of an unknown user, because people may type a password there', async () => {
    const typed = 'my-secret@password1';
    await signIn(dashboard.browser(), typed, 'x');
    const rows = async () => sql(dashboard.databaseUrl, 'select * from audit_log');
    const isFailed = (row: Record<string, unknown>) => row.action === 'user.sign_in_failed' && row.subject_id === null;
    await expect.poll(async () => (await rows()).filter(isFailed)).not.toEqual([]);
    const attempts = await sql(dashboard.databaseUrl, 'select * from sign_in_attempts');
    expect(JSON.stringify([await rows(), attempts])).not.toContain(typed);
  });

  it('takes as long for an unknown user as for a wrong password', async () => {
    const { email } = await addUser();
    const cheapestMs = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 8; round++) {
      for (const who of ['known', 'unknown'] as const) {
        // Only the comparison takes long, and it uses CPU. Elapsed time would depend on other work
        // of the machine.
        const before = process.cpuUsage();
        await signIn(dashboard.browser(), who === 'known' ? email : 'nobody-at-all@example.com', 'wrong');
        const { user, system } = process.cpuUsage(before);
        cheapestMs[who] = Math.min(cheapestMs[who], (user + system) / 1000);
      }
    }
    // A response takes a few milliseconds without a comparison, and more than twenty with one.
    const ratio = cheapestMs.unknown / cheapestMs.known;
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(1.6);
  });
});

describe('attempts to sign in', () => {
  beforeEach(untilQuarterIsYoung);

  it('are ten for an account from an address; then even the right password is refused there, but only there', async () => {
    const [{ id, email }, from] = [await addUser(), elsewhere()];
    for (let attempt = 0; attempt < 10; attempt++) {
      expect((await signIn(dashboard.browser(), email, 'wrong', from)).body.problem).toBe('wrong_password');
    }
    for (const password of ['wrong', PASSWORD, 'wrong']) {
      const { status, body, headers } = await signIn(dashboard.browser(), email, password, from);
      expect([status, body.problem]).toEqual([429, 'too_many_attempts']);
      expect(body.retryAfterSeconds).toBeGreaterThan(0);
      expect(body.retryAfterSeconds).toBeLessThanOrEqual(900);
      expect(headers['retry-after']).toBe(String(body.retryAfterSeconds));
    }
    // Everybody else can sign in, and the audit log has only ten events.
    expect((await signIn(dashboard.browser(), (await addUser()).email)).status).toBe(200);
    await expect.poll(() => auditOf(id)).toHaveLength(10);
    await sql(dashboard.databaseUrl, "update sign_in_attempts set window_start = window_start - interval '15 minutes'");
    expect((await signIn(dashboard.browser(), email, PASSWORD, from)).status).toBe(200);
    expect(await auditOf(id)).toHaveLength(11);
  });

  it('are no longer counted after a successful sign-in', async () => {
    const { email } = await addUser();
    const from = elsewhere();
    for (let round = 0; round < 2; round++) {
      for (let attempt = 0; attempt < 6; attempt++) await signIn(dashboard.browser(), email, 'wrong', from);
      expect((await signIn(dashboard.browser(), email, PASSWORD, from)).status).toBe(200);
    }
  });
});

describe('a session', () => {
  it('ends with its cookie when its user signs out, which can be repeated', async () => {
    const user = await addUser();
    const browser = await dashboard.signedIn({ ...user, passwordHash });
    const token = browser.cookies.get(COOKIE) ?? '';
    const reply = await browser.send('DELETE', '/api/session');
    expect([reply.status, reply.headers['set-cookie']]).toEqual([
      200,
      [`${COOKIE}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`],
    ]);
    expect((await browser.send('DELETE', '/api/session')).status).toBe(200);
    browser.cookies.set(COOKIE, token);
    expect((await session(browser)).body.problem).toBe('not_signed_in');
  });

  it('does not exist for a cookie that we did not set', async () => {
    const browser = dashboard.browser();
    for (const token of ['', 'x', `${'A'.repeat(43)}'`, '%00', 'A'.repeat(5_000)]) {
      browser.cookies.set(COOKIE, token);
      expect((await session(browser)).status).toBe(401);
    }
  });

  it('is one of the devices, which only their user sees and ends', async () => {
    const user = await addUser();
    const here = await dashboard.signedIn({ ...user, passwordHash });
    const there = await dashboard.signedIn({ ...user, passwordHash });
    const stranger = await dashboard.signedIn({ ...(await addUser()), passwordHash });
    const devices = async () =>
      (await here.get<{ devices: { id: string; current: boolean }[] }>('/api/devices')).body.devices;
    const other = (await devices()).find(({ current }) => !current);
    expect((await devices()).filter(({ current }) => current)).toHaveLength(1);
    expect((await stranger.send('DELETE', `/api/devices/${other?.id}`)).status).toBe(404);
    expect((await session(there)).status).toBe(200);
    const ended = await here.send('DELETE', `/api/devices/${other?.id}`);
    expect([ended.status, ended.headers['set-cookie']]).toEqual([200, undefined]);
    expect((await session(there)).status).toBe(401);
    expect((await here.send('DELETE', `/api/devices/${other?.id}`)).status).toBe(404);
    const [current] = await devices();
    await here.send('DELETE', `/api/devices/${current?.id}`);
    expect(here.cookies.size).toBe(0);
  });
});

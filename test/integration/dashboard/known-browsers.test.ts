import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { setDisabled } from '#database/users/users.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { untilQuarterIsYoung } from '../../harness/young-window.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const PASSWORD = 'correct horse battery';
const NEXT = 'a completely different one';
const COOKIE = 'gateway_browser';

/** All requests have one address, as behind a TCP proxy, which sends no forwarding headers. */
describe('a browser in which its user signed in before', () => {
  const dashboard = opened(startDashboard);
  let passwordHash: string;
  beforeAll(async () => {
    passwordHash = await hashPassword(PASSWORD);
  });
  beforeEach(async () => {
    await untilQuarterIsYoung();
    await sql(dashboard.databaseUrl, 'truncate sign_in_attempts');
  });

  const signIn = (browser: Browser, email: string, password = PASSWORD) =>
    browser.send('POST', '/api/session', { email, password });
  async function knownBrowser() {
    const user = await dashboard.addUser({ passwordHash });
    const browser = dashboard.browser();
    expect((await signIn(browser, user.email)).status).toBe(200);
    await browser.send('DELETE', '/api/session');
    return { ...user, browser };
  }
  /** Uses up the attempts of the address, at accounts that do not exist. */
  async function fillAddress(): Promise<void> {
    await sql(
      dashboard.databaseUrl,
      `insert into sign_in_attempts
       select 'address 127.0.0.1', to_timestamp(floor(extract(epoch from now()) / 900) * 900), 30
       on conflict (subject, window_start) do update set attempts = 30`,
    );
    expect((await signIn(dashboard.browser(), 'nobody@example.com', 'wrong')).status).toBe(429);
  }

  it('can sign in after any number of attempts at other accounts from the same address', async () => {
    const { email, browser } = await knownBrowser();
    await fillAddress();
    expect((await signIn(dashboard.browser(), email)).status).toBe(429);
    expect((await signIn(browser, email)).status).toBe(200);
    // Another browser at the address can too, while the user has a session from there.
    expect((await signIn(dashboard.browser(), email)).status).toBe(200);
  });

  it('can sign in after any number of attempts at its own account', async () => {
    const { email, browser } = await knownBrowser();
    for (let n = 0; n < 12; n++) await signIn(dashboard.browser(), email, 'wrong');
    expect((await signIn(dashboard.browser(), email)).status).toBe(429);
    expect((await signIn(browser, email)).status).toBe(200);
  });

  it('has its own cookie, which scripts cannot read, is no session, and changes with each sign-in', async () => {
    const { id, email, browser } = await knownBrowser();
    const first = browser.cookies.get(COOKIE);
    const reply = await signIn(browser, email);
    const [, line] = [reply.headers['set-cookie'] ?? []].flat();
    const token = browser.cookies.get(COOKIE) ?? '';
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(token).not.toBe(first);
    expect(line).toBe(`${COOKIE}=${token}; Max-Age=15552000; Path=/; HttpOnly; SameSite=Lax`);
    const thief = dashboard.browser();
    thief.cookies.set(COOKIE, token);
    thief.cookies.set('gateway_session', token);
    expect((await thief.get('/api/session')).status).toBe(401);
    const rows = await sql(dashboard.databaseUrl, `select * from known_browsers where user_id = '${id}'`);
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  it('has ten attempts at its own account and no more at others, so a stolen cookie is of little use', async () => {
    const { email, browser } = await knownBrowser();
    const outcomes: number[] = [];
    for (let n = 0; n < 12; n++) outcomes.push((await signIn(browser, email, 'wrong')).status);
    expect(outcomes).toEqual([...Array(10).fill(403), 429, 429]);
    expect((await signIn(browser, email)).status).toBe(429);
    // The attempts in this browser do not count against the user in other browsers.
    expect((await signIn(dashboard.browser(), email)).status).toBe(200);
    const other = await dashboard.addUser({ passwordHash });
    await fillAddress();
    expect((await signIn(browser, other.email)).status).toBe(429);
  });

  it.each<[string, (user: { id: string; email: string; browser: Browser }) => Promise<unknown>]>([
    [
      'a new password, except in the browser that set it',
      async ({ id, email }) => {
        const here = dashboard.browser();
        await signIn(here, email);
        await here.send('PUT', '/api/password', { current: PASSWORD, next: NEXT });
        await sql(dashboard.databaseUrl, `update users set password_hash = '${passwordHash}' where id = '${id}'`);
        await here.send('DELETE', '/api/session');
        await fillAddress();
        expect((await signIn(here, email)).status).toBe(200);
        await here.send('DELETE', '/api/session');
      },
    ],
    [
      'disabling the user',
      async ({ id }) => {
        await setDisabled(dashboard.database, id, true, BY);
        await setDisabled(dashboard.database, id, false, BY);
        await fillAddress();
      },
    ],
    [
      'the end of its time',
      async ({ id }) => {
        await sql(dashboard.databaseUrl, `update known_browsers set expires_at = now() where user_id = '${id}'`);
        await fillAddress();
      },
    ],
  ])('is forgotten after %s', async (_, end) => {
    const user = await knownBrowser();
    await end(user);
    expect((await signIn(user.browser, user.email)).status).toBe(429);
  });

  it('is not recognized by a cookie that we did not set', async () => {
    for (const token of ['', 'x', 'A'.repeat(43), '%00', 'A'.repeat(5_000)]) {
      const browser = dashboard.browser();
      browser.cookies.set(COOKIE, token);
      expect((await signIn(browser, 'nobody@example.com', 'wrong')).status).toBe(403);
    }
  });
});

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { UserRow } from '#contract/operator.ts';
import type { OrganizationView } from '#contract/organization.ts';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { findUserByEmail } from '#database/users/user-rows.ts';
import { createUserWithPassword, resetPassword } from '#operator/records/users.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { untilQuarterIsYoung } from '../../harness/young-window.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const PASSWORD = 'correct horse battery';
const NEXT = 'a completely different one';

const dashboard = opened(startDashboard);
let passwordHash: string;
let organizationId: string;
let userId: string;

beforeAll(async () => {
  passwordHash = await hashPassword(PASSWORD);
  organizationId = await dashboard.addOrganization('Acme');
  userId = (await dashboard.addUser({ in: [organizationId, 'member'] })).id;
});
beforeEach(untilQuarterIsYoung);
afterEach(() => dashboard.configure({}));

/** Moves the time at which the password was entered into the past. */
const wait = (id: string, by: string) =>
  sql(
    dashboard.databaseUrl,
    `update sessions set password_at = password_at - interval '${by}' where user_id = '${id}'`,
  );
async function operator() {
  const user = await dashboard.addUser({ operator: true, passwordHash });
  return { ...user, browser: await dashboard.signedIn({ ...user, passwordHash }) };
}
const confirm = (browser: Browser, password: string) =>
  browser.send('POST', '/api/password/confirmation', { password });
const outcome = ({ status, body }: { status: number; body: { problem?: string } }) => body.problem ?? status;

describe('a password that was not entered recently', () => {
  const NEEDED: readonly (readonly [string, (browser: Browser) => ReturnType<Browser['send']>])[] = [
    [
      'booking credit',
      (browser) => browser.send('POST', `/api/organizations/${organizationId}/credits`, { amountNanoUsd: '1000' }),
    ],
    ['opening credit', (browser) => browser.send('POST', '/api/organizations', { name: 'New', creditNanoUsd: '1000' })],
    [
      'a price list',
      (browser) => browser.send('PATCH', `/api/organizations/${organizationId}`, { priceList: 'partner' }),
    ],
    ['a reset link', (browser) => browser.send('POST', `/api/users/${userId}/reset`)],
    ['an operator', (browser) => browser.send('POST', '/api/users', { email: 'boss@example.com', operator: true })],
  ];

  it.each(NEEDED)('is requested by %s, which succeeds once it is entered', async (_, send) => {
    const { id, browser } = await operator();
    await wait(id, '9 minutes');
    await wait(id, '2 minutes');
    const refused = await send(browser);
    expect([refused.status, refused.body.problem]).toEqual([403, 'password_needed']);
    expect((await confirm(browser, PASSWORD)).status).toBe(200);
    expect((await send(browser)).status).toBe(200);
  });

  it('leaves everything unchanged when it is requested', async () => {
    const { id, browser } = await operator();
    const state = async () => {
      const { body } = await browser.get<OrganizationView>(`/api/organizations/${organizationId}`);
      const links = await sql(dashboard.databaseUrl, 'select token_hash from password_links order by 1');
      const users = (await browser.get<{ users: UserRow[] }>('/api/users')).body.users;
      return [body.balanceNanoUsd, body.priceList, links, users.map(({ email }) => email)];
    };
    const before = await state();
    await wait(id, '11 minutes');
    for (const [, send] of NEEDED) expect(outcome(await send(browser))).toBe('password_needed');
    expect(await state()).toEqual(before);
  });

  it('suffices for every other change', async () => {
    const { id, browser } = await operator();
    await wait(id, '11 minutes');
    const path = `/api/organizations/${organizationId}`;
    for (const reply of [
      await browser.send('PATCH', path, { name: 'Acme' }),
      await browser.send('POST', '/api/organizations', { name: 'Without credit', creditNanoUsd: '0' }),
      await browser.send('POST', `${path}/members`, { email: 'new@example.com', role: 'member' }),
      await browser.send('POST', '/api/users', { email: 'new@b.example', operator: false, organizationId }),
    ])
      expect(outcome(reply)).toBe(200);
  });

  it('is too old after the configured time, and is renewed by signing in or by changing it', async () => {
    const { id, email } = await operator();
    const browser = dashboard.browser();
    const [, credit] = NEEDED[0] ?? [];
    await browser.send('POST', '/api/session', { email, password: PASSWORD });
    expect(outcome((await credit?.(browser)) ?? { status: 0, body: {} })).toBe(200);
    await wait(id, '11 minutes');
    const { session } = dashboard.settings;
    dashboard.configure({ session: { ...session, freshPasswordMs: 12 * 60_000 } });
    expect(outcome((await credit?.(browser)) ?? { status: 0, body: {} })).toBe(200);
    dashboard.configure({});
    expect(outcome((await credit?.(browser)) ?? { status: 0, body: {} })).toBe('password_needed');
    await browser.send('PUT', '/api/password', { current: PASSWORD, next: NEXT });
    expect(outcome((await credit?.(browser)) ?? { status: 0, body: {} })).toBe(200);
  });

  it('cannot be guessed by somebody at a browser that is signed in', async () => {
    const { id, browser } = await operator();
    await wait(id, '11 minutes');
    const outcomes: unknown[] = [];
    for (let attempt = 0; attempt < 12; attempt++) outcomes.push(outcome(await confirm(browser, 'wrong')));
    expect(outcomes).toEqual([...Array(10).fill('wrong_password'), ...Array(2).fill('too_many_attempts')]);
    expect(outcome(await confirm(browser, PASSWORD))).toBe('too_many_attempts');
    const [, credit] = NEEDED[0] ?? [];
    expect(outcome((await credit?.(browser)) ?? { status: 0, body: {} })).toBe('password_needed');
  });
});

describe('a password that the command line made', () => {
  it('works at once, and its user is asked to choose another one, until that is done', async () => {
    const created = await createUserWithPassword(
      dashboard.database,
      { email: 'handed@example.com', isOperator: true, passwordHandedOut: true },
      BY,
    );
    if (created.kind !== 'created') throw new Error(created.kind);
    const enter = async (password: string) => {
      const browser = dashboard.browser();
      const { body } = await browser.send<{ choosePassword?: true }>('POST', '/api/session', {
        email: 'handed@example.com',
        password,
      });
      return { browser, asked: body.choosePassword };
    };
    const first = await enter(created.password);
    expect(first.asked).toBe(true);
    const credit = { amountNanoUsd: '1000' };
    expect((await first.browser.send('POST', `/api/organizations/${organizationId}/credits`, credit)).status).toBe(200);
    await first.browser.send('PUT', '/api/password', { current: created.password, next: NEXT });
    expect((await first.browser.get('/api/session')).body).not.toHaveProperty('choosePassword');
    expect((await enter(NEXT)).asked).toBeUndefined();
    const reset = await resetPassword(dashboard.database, 'handed@example.com', BY);
    expect((await enter(reset?.password ?? '')).asked).toBe(true);
    expect((await findUserByEmail(dashboard.database, 'handed@example.com'))?.invited).toBe(false);
  });
});

describe('the length of a session', () => {
  it('follows the configuration, for existing sessions too', async () => {
    const { id, email } = await operator();
    const { session } = dashboard.settings;
    dashboard.configure({ session: { ...session, idleMs: 3_600_000, absoluteMs: 7_200_000 } });
    const browser = dashboard.browser();
    const { headers } = await browser.send('POST', '/api/session', { email, password: PASSWORD });
    expect(headers['set-cookie']?.[0]).toContain('Max-Age=7200;');
    const status = async () => (await browser.get('/api/session')).status;
    const age = (change: string) => sql(dashboard.databaseUrl, `update sessions set ${change} where user_id = '${id}'`);
    await age("last_seen_at = now() - interval '59 minutes'");
    expect(await status()).toBe(200);
    await age("last_seen_at = now() - interval '61 minutes'");
    expect(await status()).toBe(401);
    dashboard.configure({});
    expect(await status()).toBe(200);
    await age("created_at = now() - interval '90 minutes'");
    dashboard.configure({ session: { ...session, absoluteMs: 3_600_000 } });
    expect(await status()).toBe(401);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import type { UserRow } from '#contract/operator.ts';
import type { LinkView, MemberView } from '#contract/people.ts';
import type { SessionView } from '#contract/session.ts';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { untilQuarterIsYoung } from '../../harness/young-window.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const PASSWORD = 'correct horse battery';
const NEXT = 'a completely different one';

const dashboard = opened(startDashboard);
let passwordHash: string;
let organizationId: string;
let owner: Browser;
let operator: Browser;

beforeAll(async () => {
  passwordHash = await hashPassword(PASSWORD);
  organizationId = await dashboard.addOrganization('Acme');
  owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
  operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
});

const signIn = (email: string, password: string) =>
  dashboard.browser().send('POST', '/api/session', { email, password });
const use = (browser: Browser, token: string, password: string) =>
  browser.send<SessionView>('POST', '/api/password-links/use', { token, password });
const inspect = (token: string) => dashboard.browser().send('POST', '/api/password-links/inspection', { token });

/** The token, which is the part after the `#`. */
function tokenOf({ url = '' }: LinkView): string {
  expect(url.startsWith(`${dashboard.origin}/link#`)).toBe(true);
  return url.split('#')[1] ?? '';
}

describe('a link to set a password', () => {
  it('signs in an invited person, once', async () => {
    const invited = await owner.send<{ member: MemberView; link: LinkView }>(
      'POST',
      `/api/organizations/${organizationId}/members`,
      { email: 'Ada@Example.com', role: 'member' },
    );
    const { member, link } = invited.body;
    expect(member).toMatchObject({ email: 'ada@example.com', role: 'member', invited: true });
    expect(link.expiresAtMs - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    const token = tokenOf(link);
    expect((await inspect(token)).body).toEqual({
      email: 'ada@example.com',
      purpose: 'invitation',
      expiresAtMs: link.expiresAtMs,
      organization: 'Acme',
      role: 'member',
    });
    const browser = dashboard.browser();
    const { status, body } = await use(browser, token, PASSWORD);
    expect(status).toBe(200);
    expect(body.organizations).toEqual([{ id: organizationId, name: 'Acme', role: 'member', suspended: false }]);
    expect((await browser.get('/api/session')).status).toBe(200);
    expect((await signIn('ada@example.com', PASSWORD)).status).toBe(200);
    for (const reply of [await use(dashboard.browser(), token, NEXT), await inspect(token)]) {
      expect([reply.status, reply.body.problem]).toEqual([410, 'link_used_or_expired']);
    }
    expect((await signIn('ada@example.com', NEXT)).body.problem).toBe('wrong_password');
  });

  it('resets a password for operators; the former one is valid until it is used', async () => {
    const { id, email } = await dashboard.addUser({ passwordHash });
    const signedIn = await dashboard.signedIn({ id, passwordHash });
    const reset = await operator.send<LinkView>('POST', `/api/users/${id}/reset`);
    expect(reset.body.expiresAtMs - Date.now()).toBeLessThanOrEqual(86_400_000);
    const token = tokenOf(reset.body);
    expect((await inspect(token)).body).toMatchObject({ email, purpose: 'reset' });
    expect((await signedIn.get('/api/session')).status).toBe(200);
    expect((await use(dashboard.browser(), token, NEXT)).status).toBe(200);
    expect((await signedIn.get('/api/session')).status).toBe(401);
    expect((await signIn(email, PASSWORD)).body.problem).toBe('wrong_password');
    expect((await signIn(email, NEXT)).status).toBe(200);
  });

  it('ends when its user is disabled', async () => {
    const { id } = await dashboard.addUser({ passwordHash });
    const token = tokenOf((await operator.send<LinkView>('POST', `/api/users/${id}/reset`)).body);
    expect((await operator.send<UserRow>('POST', `/api/users/${id}/disablement`)).body.disabledAtMs).toBeGreaterThan(0);
    expect((await use(dashboard.browser(), token, NEXT)).status).toBe(410);
    const refused = await operator.send('POST', `/api/users/${id}/reset`);
    expect([refused.status, refused.body.problem]).toEqual([409, 'conflict']);
  });

  it('is not used up by a refused password', async () => {
    const { id, email } = await dashboard.addUser({ invited: true, operator: true });
    const token = tokenOf((await operator.send<LinkView>('POST', `/api/users/${id}/reset`)).body);
    const refused = {
      short: 'At least 12 characters.',
      password1234: 'This is one of the most common passwords.',
    };
    for (const [password, message] of Object.entries({ ...refused, [email]: 'Do not use your email address.' })) {
      const { status, body } = await use(dashboard.browser(), token, password);
      expect([status, body.fields]).toEqual([400, { password: message }]);
    }
    expect((await use(dashboard.browser(), token, PASSWORD)).body.user.isOperator).toBe(true);
  });

  it('is refused for any other token, whatever its form', async () => {
    for (const token of ['', 'x', 'A'.repeat(43), `${'A'.repeat(42)}'`, '\0'.repeat(43)]) {
      expect((await inspect(token)).status).toBe(410);
      expect((await use(dashboard.browser(), token, PASSWORD)).status).toBe(410);
    }
  });
});

describe('changing one’s own password', () => {
  const change = (browser: Browser, current: string, next: string) =>
    browser.send('PUT', '/api/password', { current, next });

  it('ends every other session of the user, and none of others', async () => {
    const { id, email } = await dashboard.addUser({ passwordHash });
    const here = await dashboard.signedIn({ id, passwordHash });
    const there = await dashboard.signedIn({ id, passwordHash });
    const { status, body } = await change(here, PASSWORD, NEXT);
    expect([status, body]).toEqual([200, {}]);
    expect((await here.get('/api/session')).status).toBe(200);
    expect((await there.get('/api/session')).status).toBe(401);
    expect((await owner.get('/api/session')).status).toBe(200);
    expect((await signIn(email, PASSWORD)).body.problem).toBe('wrong_password');
    expect((await signIn(email, NEXT)).status).toBe(200);
    const [event] = await sql(
      dashboard.databaseUrl,
      `select actor, changes from audit_log where subject_id = '${id}' and action = 'user.password_set'`,
    );
    expect(event).toEqual({ actor: email, changes: {} });
  });

  it('needs the current password, and a new one that meets the rules', async () => {
    const { id, email } = await dashboard.addUser({ passwordHash });
    const browser = await dashboard.signedIn({ id, passwordHash });
    const wrong = await change(browser, 'wrong', NEXT);
    expect([wrong.status, wrong.body.problem]).toEqual([403, 'wrong_password']);
    expect(wrong.body.fields).toEqual({ current: 'This is not your password.' });
    expect((await change(browser, PASSWORD, 'short')).body.fields).toEqual({ next: 'At least 12 characters.' });
    expect((await change(browser, PASSWORD, 'x'.repeat(257))).body.fields).toEqual({ next: 'At most 256 characters.' });
    expect((await signIn(email, PASSWORD)).status).toBe(200);
  });

  it('cannot be used to guess the password in a browser that is signed in', async () => {
    await untilQuarterIsYoung();
    const { id } = await dashboard.addUser({ passwordHash });
    const browser = await dashboard.signedIn({ id, passwordHash });
    const outcomes = new Map<string | undefined, number>();
    for (let attempt = 0; attempt < 12; attempt++) {
      const { body } = await change(browser, 'wrong', NEXT);
      outcomes.set(body.problem, (outcomes.get(body.problem) ?? 0) + 1);
    }
    expect(outcomes.get('wrong_password')).toBeLessThanOrEqual(10);
    expect((await change(browser, PASSWORD, NEXT)).body.problem).toBe('too_many_attempts');
    const failed = `select id from audit_log where subject_id = '${id}' and action = 'user.sign_in_failed'`;
    expect(await sql(dashboard.databaseUrl, failed)).toHaveLength(outcomes.get('wrong_password') ?? 0);
  });
});

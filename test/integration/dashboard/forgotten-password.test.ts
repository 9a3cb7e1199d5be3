import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LinkView } from '#contract/people.ts';
import type { PasswordLinkView } from '#contract/session.ts';
import { HOUR_MS } from '#core/clock.ts';
import { createLog } from '#core/log/log.ts';
import { deliverOutbox } from '#dashboard/server/alerts/outbox-delivery.ts';
import type { Background } from '#dashboard/server/background/repeat.ts';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { untilMinuteIsYoung } from '../../harness/young-window.ts';
import { startMailServer } from './alert-receivers.ts';
import { startDashboard } from './dashboard-server.ts';

const PASSWORD = 'correct horse battery';
const NEXT = 'a completely different one';
const SOON = { timeout: 30_000, interval: 50 };

describe('a forgotten password', () => {
  const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
  const mail = opened(startMailServer);
  let sending: Background;
  let passwordHash: string;

  beforeAll(async () => {
    passwordHash = await hashPassword(PASSWORD);
    sending = deliverOutbox(dashboard.database, () => dashboard.settings, createLog('silent'));
    configure();
  });
  afterAll(async () => {
    await sending.close();
  });

  const server = () => ({ host: '127.0.0.1', port: mail.port, tls: false });
  const mailing = () => ({ server: server(), from: 'noreply@gateway.example', operators: [] });
  const configure = (change: object = {}) =>
    dashboard.configure({ mail: mailing(), url: new URL(dashboard.origin), ...change });
  const forgetCounts = () => sql(dashboard.databaseUrl, 'delete from change_counts');
  const ask = (email: string) => dashboard.browser().send('POST', '/api/password-resets', { email });
  const use = (token: string, password: string) =>
    dashboard.browser().send('POST', '/api/password-links/use', { token, password });
  const inspect = (token: string) =>
    dashboard.browser().send<PasswordLinkView>('POST', '/api/password-links/inspection', { token });
  const signIn = (email: string) => dashboard.browser().send('POST', '/api/session', { email, password: NEXT });
  const mailsTo = (address: string) => mail.mails.filter(({ to }) => to.includes(address));
  const tokenIn = (text = '') => /\/link#([\w-]{43})\n/.exec(text)?.[1] ?? '';

  async function tokenFor(email: string): Promise<string> {
    const before = mailsTo(email).length;
    expect(await ask(email)).toMatchObject({ status: 200, body: {} });
    await expect.poll(() => mailsTo(email).length, SOON).toBe(before + 1);
    return tokenIn(mailsTo(email).at(-1)?.text);
  }

  it('is replaced with a link of 30 minutes, which works once, ends every session and is in no table', async () => {
    await forgetCounts();
    const user = await dashboard.addUser({ passwordHash });
    const session = await dashboard.signedIn({ ...user, passwordHash });
    const first = await tokenFor(user.email);
    const token = await tokenFor(user.email);
    const [text] = mailsTo(user.email).map((one) => one.text);
    expect(text).toMatch(/^Somebody asked for a new password .* until \d+ \w+ \d{4}, \d\d:\d\d UTC, once/);
    expect((await inspect(first)).status).toBe(410);
    const { body } = await inspect(token);
    expect(body).toMatchObject({ email: user.email, purpose: 'reset' });
    expect(body.expiresAtMs - Date.now()).toBeLessThanOrEqual(30 * 60_000);
    const stored = await sql(
      dashboard.databaseUrl,
      `select jsonb_agg(o)::text || (select jsonb_agg(l)::text from password_links l) || (select jsonb_agg(a)::text from audit_log a) as all from outbox o`,
    );
    expect(JSON.stringify(stored)).not.toContain(token);
    expect((await session.get('/api/session')).status).toBe(200);
    expect((await use(token, NEXT)).status).toBe(200);
    expect((await session.get('/api/session')).status).toBe(401);
    expect((await use(token, PASSWORD)).status).toBe(410);
    expect((await signIn(user.email)).status).toBe(200);
    const events = await sql(
      dashboard.databaseUrl,
      `select action, actor, address from audit_log where subject_id = '${user.id}' and action like 'user.%set%' order by id`,
    );
    expect(events).toEqual([
      { action: 'user.reset_asked', actor: 'somebody', address: '127.0.0.1' },
      { action: 'user.reset_asked', actor: 'somebody', address: '127.0.0.1' },
      { action: 'user.password_set', actor: user.email, address: '127.0.0.1' },
    ]);
  });

  it('of unknown, invited, disabled and single sign-on users gets the same response and no mail', async () => {
    await forgetCounts();
    const [invited, disabled, atIssuer] = await Promise.all([
      dashboard.addUser({ invited: true }),
      dashboard.addUser({ passwordHash }),
      dashboard.addUser({ invited: true }),
    ]);
    await sql(
      dashboard.databaseUrl,
      `update users set disabled_at = now() where id = '${disabled.id}';
       insert into user_identities (issuer, subject, user_id) values ('https://idp.example', 's', '${atIssuer.id}')`,
    );
    for (const email of ['nobody@example.com', invited.email, disabled.email, atIssuer.email, 'no address'])
      expect(await ask(email)).toMatchObject({ status: 200, body: {} });
    const known = await dashboard.addUser({ passwordHash });
    await forgetCounts();
    await tokenFor(known.email);
    const rows = await sql(dashboard.databaseUrl, "select receiver from outbox where kind = 'forgotten' order by id");
    expect(rows.at(-1)).toEqual({ receiver: known.email });
    for (const { email } of [invited, disabled, atIssuer]) expect(JSON.stringify(rows)).not.toContain(email);
  });

  it('gets a few links: further requests for an account are ignored, from an address refused', async () => {
    // Requests are counted by minute, so the test must not run into the next one.
    await untilMinuteIsYoung();
    await forgetCounts();
    const { email } = await dashboard.addUser({ passwordHash });
    for (let n = 0; n < 5; n++) expect((await ask(n < 3 ? email : `other-${n}@example.com`)).status).toBe(200);
    const refused = await ask('one-more@example.com');
    expect([refused.status, refused.body.problem]).toEqual([429, 'too_many_attempts']);
    await expect.poll(() => mailsTo(email).length, SOON).toBe(2);
    const sent = await sql(dashboard.databaseUrl, `select from outbox where receiver = '${email}'`);
    expect(sent).toHaveLength(2);
  });

  it('gets a link elsewhere after somebody at one address has asked too often', async () => {
    await forgetCounts();
    configure({ trustedProxies: ['127.0.0.0/8'] });
    const { email } = await dashboard.addUser({ passwordHash });
    const askFrom = async (address: string) => {
      await sql(dashboard.databaseUrl, 'delete from change_counts where window_seconds = 60');
      const headers = { 'x-forwarded-for': address };
      expect((await dashboard.browser().send('POST', '/api/password-resets', { email }, headers)).status).toBe(200);
    };
    const asked = () => sql(dashboard.databaseUrl, `select from outbox where receiver = '${email}'`);
    for (let n = 0; n < 12; n++) await askFrom(`2001:db8:1:${n}::1`);
    await expect.poll(asked, SOON).toHaveLength(4);
    await askFrom('2001:db8:2::1');
    await expect.poll(asked, SOON).toHaveLength(5);
    configure();
  });

  it('does not end the links of operators, and gets no late mail', async () => {
    await forgetCounts();
    const { id, email } = await dashboard.addUser({ passwordHash });
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    configure({ mail: undefined });
    const made = await operator.send<LinkView>('POST', `/api/users/${id}/reset`);
    configure();
    const operators = made.body.url?.split('#')[1] ?? '';
    const token = await tokenFor(email);
    expect((await inspect(operators)).status).toBe(200);
    const outcome = async () =>
      (await sql(dashboard.databaseUrl, `select outcome from outbox where receiver = '${email}'`))[0];
    await expect.poll(outcome, SOON).toEqual({ outcome: 'delivered' });
    // Simulates a dashboard that ended after it sent the mail and before it stored that.
    await sql(
      dashboard.databaseUrl,
      `update outbox set finished_at = null, outcome = null, next_attempt_at = now(), created_at = now() - interval '31 minutes' where receiver = '${email}'`,
    );
    await expect.poll(outcome, SOON).toEqual({ outcome: 'dropped' });
    expect(mailsTo(email)).toHaveLength(1);
    expect((await use(token, NEXT)).status).toBe(200);
    expect((await inspect(operators)).status).toBe(410);
  });

  it.each([
    ['an alert', 'operators.test'],
    ['an earlier link', 'forgotten'],
  ])('does not wait behind %s, which the mail server refused and gets again in an hour', async (_, kind) => {
    await forgetCounts();
    const { id, email } = await dashboard.addUser({ passwordHash });
    const content = JSON.stringify({ user_id: id, origin: dashboard.origin });
    await sql(
      dashboard.databaseUrl,
      `insert into outbox (channel, receiver, kind, content, attempts, next_attempt_at)
        values ('mail', '${email}', '${kind}', '${content}', 9, now() + interval '1 hour')`,
    );
    expect((await inspect(await tokenFor(email))).status).toBe(200);
    // Otherwise a later mail would end the link of this one.
    const waits = await sql(
      dashboard.databaseUrl,
      `select kind from outbox where receiver = '${email}' and finished_at is null`,
    );
    expect(waits).toEqual(kind === 'forgotten' ? [] : [{ kind }]);
  });

  it('is replaced too by a dashboard whose clock is an hour ahead of the database', async () => {
    await forgetCounts();
    const { email } = await dashboard.addUser({ passwordHash });
    const machine = Date.now;
    const ahead = vi.spyOn(Date, 'now').mockImplementation(() => machine() + HOUR_MS);
    try {
      expect((await use(await tokenFor(email), NEXT)).status).toBe(200);
    } finally {
      ahead.mockRestore();
    }
  });

  it('is reset by the operator if no mail is configured, or the dashboard does not know its own address', async () => {
    await forgetCounts();
    const methods = async () => (await dashboard.browser().get('/api/sign-in')).body;
    expect(await methods()).toEqual({ password: true, resetsByMail: true });
    for (const change of [{ mail: undefined }, { url: undefined }]) {
      configure(change);
      expect(await methods()).toEqual({ password: true });
      expect((await ask('nobody@example.com')).status).toBe(409);
    }
    configure({ signIn: { password: false } });
    expect(await methods()).toEqual({ password: false });
    expect((await ask('nobody@example.com')).body.problem).toBe('passwords_off');
    configure();
  });
});

import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { newToken } from '#dashboard/server/sign-in/session-token.ts';
import { removeIdentities } from '#database/sign-in/identities.ts';
import { createPasswordLink } from '#database/sign-in/password-links.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { startDashboard } from './dashboard-server.ts';
import { begin, finish, type ScriptedIssuer, signInAt, startScriptedIssuer } from './scripted-issuer.ts';

/** The accounts of users who sign in at the issuer, and their rights. */
const PASSWORD = 'correct horse battery';
const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
const issuer = opened(startScriptedIssuer);
let passwordHash: string;
let organizationId: string;

beforeAll(async () => {
  organizationId = await dashboard.addOrganization();
  const hashed = await hashPassword(PASSWORD);
  if (hashed === 'busy') throw new Error('one password found no turn');
  passwordHash = hashed;
});
beforeEach(() => dashboard.configure({ signIn: issuer.signIn }));

const passwordsOff = () => dashboard.configure({ signIn: { ...issuer.signIn, password: false } });
const signInAs = (sub: string, email: string, claims = {}) =>
  signInAt(dashboard.browser(), issuer, { sub, email, ...claims });
const password = (email: string) => dashboard.browser().send('POST', '/api/session', { email, password: PASSWORD });
const identities = async (email: string) =>
  (
    await sql<{ subject: string }>(
      dashboard.databaseUrl,
      `select subject from user_identities join users on users.id = user_id where email = '${email}'`,
    )
  ).map(({ subject }) => subject);

describe('an account', () => {
  test('is bound to issuer and subject: a later address of the issuer changes nothing', async () => {
    const { id } = await dashboard.addUser({ email: 'ann@example.com', in: [organizationId, 'owner'], invited: true });
    const first = await signInAs('ann', 'Ann@Example.com');
    expect([first.status, first.body.user]).toEqual([200, expect.objectContaining({ email: 'ann@example.com' })]);
    expect(first.body.user.id).not.toBe(id);
    const other = await dashboard.addUser({ email: 'renamed@example.com', in: [organizationId, 'owner'] });
    const renamed = await signInAs('ann', 'renamed@example.com');
    expect(renamed.body.user).toEqual(first.body.user);
    expect(renamed.body.user.id).not.toBe(other.id);
  });

  test('is created for an invited address, whose user then accepts the invitation', async () => {
    await dashboard.addUser({ email: 'bob@example.com', in: [organizationId, 'member'], invited: true });
    const { body } = await signInAs('bob', 'bob@example.com');
    expect([body.organizations, body.invitations?.length]).toEqual([[], 1]);
    const nobody = await signInAs('stranger', 'stranger@example.com');
    expect([nobody.status, nobody.body.problem]).toEqual([403, 'no_account']);
  });

  test('with a password is not bound to the verified owner of its address, who may not have made it', async () => {
    await dashboard.addUser({ email: 'cat@example.com', in: [organizationId, 'owner'], passwordHash });
    const refused = await signInAs('cat', 'cat@example.com');
    expect([refused.status, refused.body.problem]).toEqual([409, 'account_has_password']);
    expect(await identities('cat@example.com')).toEqual([]);
  });

  test('with a password is bound in a browser that has just entered it, and only to its own address', async () => {
    const { id } = await dashboard.addUser({ email: 'dan@example.com', in: [organizationId, 'owner'], passwordHash });
    const browser = await dashboard.signedIn({ id, passwordHash });
    const other = await signInAt(browser, issuer, { sub: 'eve', email: 'cat@example.com' });
    expect(other.body.problem).toBe('account_has_password');
    await sql(
      dashboard.databaseUrl,
      `update sessions set password_at = now() - interval '1 hour' where user_id = '${id}'`,
    );
    expect((await signInAt(browser, issuer, { sub: 'dan', email: 'dan@example.com' })).status).toBe(409);
    await sql(dashboard.databaseUrl, `update sessions set password_at = now() where user_id = '${id}'`);
    expect((await signInAt(browser, issuer, { sub: 'dan', email: 'dan@example.com' })).status).toBe(200);
    expect((await signInAs('dan', 'dan@example.com')).status).toBe(200);
    expect((await password('dan@example.com')).status).toBe(200);
    // A password cannot bind a second subject, so the dashboard does not ask for it.
    for (const again of [dashboard.browser(), browser]) {
      const second = await signInAt(again, issuer, { sub: 'dan-2', email: 'dan@example.com' });
      expect([second.status, second.body.problem]).toEqual([409, 'other_identity']);
    }
    expect(await identities('dan@example.com')).toEqual(['dan']);
  });

  test('belongs to one subject until its identity is removed, whoever gets its address there later', async () => {
    await dashboard.addUser({ email: 'fay@example.com', in: [organizationId, 'owner'], invited: true });
    const { body } = await signInAs('fay', 'fay@example.com');
    const second = await signInAs('fay-2', 'fay@example.com');
    expect([second.status, second.body.problem]).toEqual([409, 'other_identity']);
    expect(await removeIdentities(dashboard.database, body.user.id, BY)).toBe(1);
    expect((await signInAs('fay-2', 'fay@example.com')).body.user.id).toBe(body.user.id);
    expect((await signInAs('fay', 'fay@example.com')).body.problem).toBe('other_identity');
  });

  test('is not found by the address of the token if the user info has verified another one', async () => {
    const { id } = await dashboard.addUser({ email: 'vic@example.com', in: [organizationId, 'owner'], invited: true });
    issuer.userInfo = { email: 'mallory@example.com', email_verified: true };
    const reply = await signInAs('mallory', 'vic@example.com', { email_verified: undefined });
    issuer.userInfo = {};
    expect([reply.body.problem, await identities('vic@example.com'), id]).toEqual(['no_account', [], id]);
  });

  test.each<[string, object, ScriptedIssuer['userInfo']]>([
    ['address, the user info the verification', { email_verified: undefined }, { email_verified: true }],
    [
      'verification, the user info the address',
      { email: undefined, email_verified: true },
      { email: 'wes@example.com' },
    ],
  ])('needs address and verification from one source: the token has the %s', async (_, claims, userInfo) => {
    await dashboard.addUser({ email: 'wes@example.com', in: [organizationId, 'owner'], invited: true });
    issuer.userInfo = userInfo;
    const reply = await signInAs('mallory', 'wes@example.com', claims);
    issuer.userInfo = {};
    expect([reply.status, reply.body.problem]).toEqual([403, 'email_unverified']);
  });

  test('that an operator made without a password is bound to its first verified owner, and its links end', async () => {
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    const made = await operator.send<{ link: { url: string }; user: { id: string } }>('POST', '/api/users', {
      ...{ email: 'gus@example.com', operator: false, organizationId, role: 'owner' },
    });
    expect((await signInAs('gus', 'gus@example.com')).body.user.id).toBe(made.body.user.id);
    const token = made.body.link.url.split('#')[1];
    const used = await dashboard.browser().send('POST', '/api/password-links/use', { token, password: PASSWORD });
    expect(used.body.problem).toBe('link_used_or_expired');
    // Another owner cannot make a new link either, which would give access to this account.
    const owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
    const path = `/api/organizations/${organizationId}/members/${made.body.user.id}/invitation`;
    expect((await owner.send('POST', path)).status).toBe(409);
    await operator.send('POST', `/api/users/${made.body.user.id}/disablement`, {});
    expect((await signInAs('gus', 'gus@example.com')).body.problem).toBe('no_account');
  });

  test('is bound once when several browsers sign in at the same time', async () => {
    await dashboard.addUser({ email: 'hal@example.com', in: [organizationId, 'owner'], invited: true });
    const browsers = [dashboard.browser(), dashboard.browser(), dashboard.browser()];
    const queries: string[] = [];
    for (const browser of browsers)
      queries.push(await begin(browser, issuer, { sub: 'hal', email: 'hal@example.com' }));
    const replies = await Promise.all(browsers.map((browser, i) => finish(browser, queries[i] ?? '')));
    expect(new Set(replies.map(({ status, body }) => `${status} ${body.user?.id}`)).size).toBe(1);
    expect([replies[0]?.status, await identities('hal@example.com')]).toEqual([200, ['hal']]);
  });
});

describe('an operator by claim', () => {
  test('has the right while the claim is present; without it every other session ends', async () => {
    const first = dashboard.browser();
    expect(
      (await signInAt(first, issuer, { sub: 'ina', email: 'ina@example.com', groups: ['ops', 'x'] })).body.user
        .isOperator,
    ).toBe(true);
    expect((await first.get('/api/users')).status).toBe(200);
    const second = dashboard.browser();
    const demoted = await signInAt(second, issuer, { sub: 'ina', email: 'ina@example.com', groups: ['x'] });
    expect(demoted.body.user.isOperator).toBe(false);
    expect([(await first.get('/api/users')).status, (await second.get('/api/users')).status]).toEqual([401, 403]);
    const again = await signInAs('ina', 'ina@example.com', { groups: 'ops' });
    expect(again.body.user.isOperator).toBe(true);
  });

  test('stays an operator without the claim if the command line made them one', async () => {
    const { id } = await dashboard.addUser({ email: 'joe@example.com', operator: true, passwordHash });
    const browser = await dashboard.signedIn({ id, passwordHash });
    await signInAt(browser, issuer, { sub: 'joe', email: 'joe@example.com', groups: ['ops'] });
    expect((await signInAs('joe', 'joe@example.com')).body.user.isOperator).toBe(true);
  });

  test('is no operator after signing in with a password, which the issuer cannot revoke', async () => {
    const { id } = await dashboard.addUser({ email: 'ida@example.com', in: [organizationId, 'owner'], passwordHash });
    const browser = await dashboard.signedIn({ id, passwordHash });
    await signInAt(browser, issuer, { sub: 'ida', email: 'ida@example.com', groups: ['ops'] });
    expect((await browser.get('/api/users')).status).toBe(200);
    const bypass = dashboard.browser();
    const credentials = { email: 'ida@example.com', password: PASSWORD };
    const { body } = await bypass.send<{ user: object }>('POST', '/api/session', credentials);
    expect([body.user, (await bypass.get('/api/users')).status]).toEqual([
      { id, email: 'ida@example.com', isOperator: false },
      403,
    ]);
  });

  test('is recognized by the user info if the token has no such claim, or null', async () => {
    issuer.userInfo = { sub: 'kim', email: 'kim@example.com', email_verified: true, groups: ['ops'], auth_time: 'x' };
    const browser = dashboard.browser();
    for (const none of [undefined, null]) {
      const query = await begin(browser, issuer, { sub: 'kim', email: none, email_verified: none, groups: none });
      expect((await finish(browser, query)).body.user.isOperator).toBe(true);
    }
    issuer.userInfo = { ...issuer.userInfo, sub: 'another' };
    const other = await begin(browser, issuer, { sub: 'kim', email_verified: undefined });
    expect((await finish(browser, other)).body.problem).toBe('identity_refused');
    issuer.userInfo = {};
  });

  test('signs in at the issuer again for changes that need a fresh sign-in', async () => {
    const longAgo = Math.floor(Date.now() / 1000) - 3_600;
    const browser = dashboard.browser();
    await signInAt(browser, issuer, { sub: 'lea', email: 'lea@example.com', groups: ['ops'], auth_time: longAgo });
    const make = () => browser.send('POST', '/api/users', { email: `x-${Math.random()}@example.com`, operator: true });
    expect((await make()).body.problem).toBe('password_needed');
    await signInAt(browser, issuer, { sub: 'lea', email: 'lea@example.com', groups: ['ops'] });
    expect((await make()).status).toBe(200);
  });
});

describe('without passwords', () => {
  test('no password signs in or is set, changed, confirmed or reset, and password sessions end', async () => {
    const { id } = await dashboard.addUser({ email: 'max@example.com', operator: true, passwordHash });
    const browser = await dashboard.signedIn({ id, passwordHash });
    const { token, tokenHash } = newToken();
    await createPasswordLink(dashboard.database, { userId: id, purpose: 'reset', tokenHash }, BY);
    passwordsOff();
    expect((await dashboard.browser().get('/api/sign-in')).body).toEqual({
      password: false,
      issuer: new URL(issuer.url).host,
    });
    expect((await password('max@example.com')).body.problem).toBe('passwords_off');
    expect((await browser.get('/api/session')).status).toBe(401);
    const used = await dashboard.browser().send('POST', '/api/password-links/use', { token, password: PASSWORD });
    expect(used.body.problem).toBe('passwords_off');
    const operator = dashboard.browser();
    await signInAt(operator, issuer, { sub: 'nia', email: 'nia@example.com', groups: ['ops'] });
    const changes: [string, string, object][] = [
      ['PUT', '/api/password', { current: PASSWORD, next: 'another long password' }],
      ['POST', '/api/password/confirmation', { password: PASSWORD }],
      ['POST', `/api/users/${id}/reset`, {}],
    ];
    for (const [method, path, body] of changes) {
      expect((await operator.send(method, path, body)).body.problem, path).toBe('passwords_off');
    }
  });

  test('a verified owner of the address gets the account, and sessions by its password end', async () => {
    const { id } = await dashboard.addUser({ email: 'oda@example.com', in: [organizationId, 'owner'], passwordHash });
    const former = await dashboard.signedIn({ id, passwordHash });
    passwordsOff();
    expect((await signInAs('oda', 'oda@example.com')).body.user.id).toBe(id);
    dashboard.configure({ signIn: issuer.signIn });
    expect((await former.get('/api/session')).status).toBe(401);
    expect((await password('oda@example.com')).body.problem).toBe('wrong_password');
  });

  test('a link of the command line signs in once, and sets no password', async () => {
    const { id } = await dashboard.addUser({ operator: true, passwordHash });
    passwordsOff();
    issuer.instead.set('/token', (request) => void request.socket.destroy());
    const { token, tokenHash } = newToken();
    await createPasswordLink(dashboard.database, { userId: id, purpose: 'sign_in', tokenHash }, BY);
    dashboard.configure({ signIn: issuer.signIn });
    const asPassword = await dashboard.browser().send('POST', '/api/password-links/use', { token, password: PASSWORD });
    expect(asPassword.body.problem).toBe('link_used_or_expired');
    passwordsOff();
    const browser = dashboard.browser();
    expect((await browser.send('POST', '/api/sign-in-links/use', { token })).status).toBe(200);
    expect((await browser.get('/api/users')).status).toBe(200);
    expect((await browser.send('POST', '/api/sign-in-links/use', { token })).body.problem).toBe('link_used_or_expired');
    issuer.instead.clear();
  });
});

test('a sign-out redirects to the issuer, and ends the session here in any case', async () => {
  const browser = dashboard.browser();
  await signInAt(browser, issuer, { sub: 'pia', email: 'pia@example.com', groups: ['ops'] });
  const session = browser.cookies.get('gateway_session') ?? '';
  const { body } = await browser.send<{ signOutUrl: string }>('DELETE', '/api/session');
  const url = new URL(body.signOutUrl);
  expect([url.pathname, url.searchParams.get('post_logout_redirect_uri')]).toEqual([
    '/sign-out',
    `${dashboard.origin}/sign-in`,
  ]);
  expect(url.searchParams.get('id_token_hint')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  browser.cookies.set('gateway_session', session);
  expect((await browser.get('/api/session')).status).toBe(401);
});

test('sessions of an issuer end when it is no longer configured', async () => {
  const browser = dashboard.browser();
  await signInAt(browser, issuer, { sub: 'pia', email: 'pia@example.com', groups: ['ops'] });
  dashboard.configure({ signIn: { password: true } });
  expect((await browser.get('/api/session')).status).toBe(401);
});

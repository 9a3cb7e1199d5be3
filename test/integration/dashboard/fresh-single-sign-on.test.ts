import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';
import { begin, finish, type ScriptedIssuer, signInAt, startScriptedIssuer } from './scripted-issuer.ts';

/** Sign-ins at the issuer that count as a recently entered password. */
const SUE = { sub: 'sue', email: 'sue@example.com', groups: ['ops'] };
const SILENT = { ...SUE, auth_time: undefined };
const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
let issuer: ScriptedIssuer;

beforeEach(async () => {
  issuer = await startScriptedIssuer();
  dashboard.configure({ signIn: issuer.signIn });
});
afterEach(() => issuer.close());

/** Number of users that `make` has created, a change that needs a fresh sign-in. */
let made = 0;
const make = async (browser: Browser) => {
  const reply = await browser.send('POST', '/api/users', { email: `boss-${++made}@example.com`, operator: true });
  return reply.body.problem ?? reply.status;
};
/** Signs in again. Only the issuer knows whether the browser passed on that this was required. */
const again = async (browser: Browser, claims: Readonly<Record<string, unknown>>) =>
  finish(browser, await begin(browser, issuer, claims, { again: true }));

describe('an issuer that knows auth_time', () => {
  beforeEach(() => {
    issuer.metadata = { claims_supported: ['sub', 'email', 'auth_time'] };
  });

  test('proves no fresh sign-in without it, because the browser may have dropped the demand for one', async () => {
    const browser = dashboard.browser();
    expect((await signInAt(browser, issuer, SILENT)).status).toBe(200);
    expect(await make(browser)).toBe('password_needed');
    expect((await again(browser, SILENT)).status).toBe(200);
    expect(await make(browser)).toBe('password_needed');
  });

  test('proves by auth_time when the user signed in', async () => {
    const browser = dashboard.browser();
    const longAgo = Math.floor(Date.now() / 1000) - 3_600;
    await again(browser, { ...SUE, auth_time: longAgo });
    expect(await make(browser)).toBe('password_needed');
    await again(browser, SUE);
    expect(await make(browser)).toBe(200);
  });
});

describe.each<[string, object]>([
  ['lists no claims', {}],
  ['lists claims without auth_time', { claims_supported: ['sub', 'email'] }],
])('an issuer that %s', (_, metadata) => {
  test('proves a fresh sign-in only by one that the dashboard demanded', async () => {
    issuer.metadata = { ...metadata };
    const browser = dashboard.browser();
    await signInAt(browser, issuer, SILENT);
    expect(await make(browser)).toBe('password_needed');
    await again(browser, SILENT);
    expect(await make(browser)).toBe(200);
  });
});

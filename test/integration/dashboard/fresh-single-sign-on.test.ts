import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';
import { begin, finish, type ScriptedIssuer, signInAt, startScriptedIssuer } from './scripted-issuer.ts';

/** Sign-ins at the issuer that stand for a password that was given a moment ago. */
const SUE = { sub: 'sue', email: 'sue@example.com', groups: ['ops'] };
const SILENT = { ...SUE, auth_time: undefined };
const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
let issuer: ScriptedIssuer;

beforeEach(async () => {
  issuer = await startScriptedIssuer();
  dashboard.configure({ signIn: issuer.signIn });
});
afterEach(() => issuer.close());

/** Does what needs a fresh sign-in. */
let made = 0;
const make = async (browser: Browser) => {
  const reply = await browser.send('POST', '/api/users', { email: `boss-${++made}@example.com`, operator: true });
  return reply.body.problem ?? reply.status;
};
/** Signs in once more on request. Only the issuer knows whether the browser passed that on. */
const again = async (browser: Browser, claims: Readonly<Record<string, unknown>>) =>
  finish(browser, await begin(browser, issuer, claims, { again: true }));

describe('an issuer that knows auth_time', () => {
  beforeEach(() => {
    issuer.metadata = { claims_supported: ['sub', 'email', 'auth_time'] };
  });

  test('proves nothing without it, because the browser may not have passed on that the user is asked', async () => {
    const browser = dashboard.browser();
    expect((await signInAt(browser, issuer, SILENT)).status).toBe(200);
    expect(await make(browser)).toBe('password_needed');
    expect((await again(browser, SILENT)).status).toBe(200);
    expect(await make(browser)).toBe('password_needed');
  });

  test('proves by it when the user was there', async () => {
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
  test('proves by a sign-in that was asked for again, and by no other', async () => {
    issuer.metadata = { ...metadata };
    const browser = dashboard.browser();
    await signInAt(browser, issuer, SILENT);
    expect(await make(browser)).toBe('password_needed');
    await again(browser, SILENT);
    expect(await make(browser)).toBe(200);
  });
});

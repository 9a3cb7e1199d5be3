import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KeyView } from '#contract/keys.ts';
import type { AuditPage } from '#contract/people.ts';
import type { TopUpsView } from '#contract/top-ups.ts';
import { ROUTES } from '#dashboard/server/routes.ts';
import { removeIdentities } from '#database/sign-in/identities.ts';
import { BY } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { startScriptedStripe } from '../../stripe/scripted-stripe.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard, type TestDashboard } from './dashboard-server.ts';
import { signInAt, startScriptedIssuer } from './scripted-issuer.ts';

/** The traces in customers' organizations of operators by claim who have lost the claim. */
let dashboard: TestDashboard;
const issuer = opened(startScriptedIssuer);
let organizationId: string;
let customer: Browser;

beforeAll(async () => {
  dashboard = await startDashboard({ signIn: issuer.signIn }, 'gateway_dashboard');
  organizationId = await dashboard.addOrganization('Customer');
  customer = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
});
afterAll(async () => {
  await dashboard.close();
});

const emailOf = (name: string) => `${name}@operator.example`;
async function signIn(name: string, groups: readonly string[]) {
  const browser = dashboard.browser();
  const { body } = await signInAt(browser, issuer, { sub: name, email: emailOf(name), groups });
  return { browser, id: body.user.id };
}
async function addKey(browser: Browser, organization: string): Promise<string> {
  const made = { name: 'for support', scopes: ['chat'] };
  const reply = await browser.send<{ key: KeyView }>('POST', `/api/organizations/${organization}/keys`, made);
  return reply.body.key.id;
}

/** Everything that the customer can read about the key. */
async function shown(key: string) {
  const { body } = await customer.get<KeyView>(`/api/organizations/${organizationId}/keys/${key}`);
  const audit = await customer.get<AuditPage>(`/api/organizations/${organizationId}/audit`);
  const events = audit.body.events.filter(({ subjectId }) => subjectId === key);
  return {
    state: body.state,
    createdBy: body.createdBy,
    events: events.map(({ action, actor, address }) => [action, actor, address]).sort(),
  };
}
const CREATED = ['key.created', 'the operator', undefined];
const REVOKED = ['key.revoked', 'the operator', undefined];

test('an operator who loses the claim loses keys in customer organizations, and stays unnamed there', async () => {
  const operator = await signIn('olga', ['ops']);
  const key = await addKey(operator.browser, organizationId);
  expect(await shown(key)).toEqual({ state: 'usable', createdBy: 'the operator', events: [CREATED] });
  const own = await dashboard.addOrganization('Own');
  const joined = { email: emailOf('olga'), role: 'member', known: true };
  expect((await operator.browser.send('POST', `/api/organizations/${own}/members`, joined)).status).toBe(200);
  const ownKey = await addKey(operator.browser, own);
  await signIn('olga', []);
  expect(await shown(key)).toEqual({ state: 'revoked', createdBy: 'the operator', events: [CREATED, REVOKED] });
  expect((await dashboard.administration.key(own, ownKey))?.revoked).toBe(false);
  // The claim makes the same user an operator again, until the next sign-in without it.
  expect((await (await signIn('olga', ['ops'])).browser.get('/api/users')).status).toBe(200);
  expect((await (await signIn('olga', [])).browser.get('/api/users')).status).toBe(403);
});

test('an operator whose identity is removed loses them as well', async () => {
  const { browser, id } = await signIn('otto', ['ops']);
  const key = await addKey(browser, organizationId);
  await removeIdentities(dashboard.database, id, BY);
  expect(await shown(key)).toMatchObject({ state: 'revoked', createdBy: 'the operator' });
  expect((await shown(key)).events).toContainEqual(CREATED);
});

test('no page of an owner shows the address of a present or former operator', async () => {
  const stripe = await startScriptedStripe();
  dashboard.configure({ signIn: issuer.signIn, stripe: stripe.config });
  const { browser, id: operatorId } = await signIn('oscar', ['ops']);
  const at = `/api/organizations/${organizationId}`;
  const begun = await browser.send<{ id: string }>('POST', `${at}/top-ups`, { amountUsd: 10 });
  await browser.send('POST', `${at}/card`);
  expect(begun.status).toBe(200);
  expect(stripe.calls.map(({ body }) => decodeURIComponent(body)).join()).not.toContain('operator.example');
  const params = { key: await addKey(browser, organizationId), user: operatorId, topUp: begun.body.id };
  const pages = async () => {
    for (const { method, path } of ROUTES) {
      if (method !== 'GET') continue;
      const named = path.replace(':organization', organizationId);
      const address = named.replace(/:(\w+)/g, (_, name: string) => params[name as keyof typeof params] ?? '');
      expect([path, (await customer.get(address)).text]).toEqual([
        path,
        expect.not.stringContaining('operator.example'),
      ]);
    }
  };
  const makers = async () =>
    (await customer.get<TopUpsView>(`${at}/top-ups`)).body.topUps.map(({ createdBy }) => createdBy);
  for (const groups of [['ops'], []]) {
    await signIn('oscar', groups);
    await pages();
    expect(await makers()).toEqual(['the operator']);
  }
  await customer.send('POST', `${at}/top-ups`, { amountUsd: 20 });
  expect((await makers())[0]).toMatch(/@/);
  await stripe.close();
});

import type { Page } from 'playwright-core';
import { beforeAll, expect, inject, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { barriers } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';
import { confirmAtIssuer, listenAsOpenIdProvider, proveAtIssuer, signInByIssuer } from './openid-provider.ts';

/** A certified issuer on another site, and users who sign in there. */
requirement(NO_CHROMIUM, () => {
  const provider = opened(listenAsOpenIdProvider);
  const stack = opened(() =>
    startDashboardStack(inject('postgresSocketDir'), { small: {} }, [], { sign_in: provider.signIn }),
  );
  let organizationId: string;

  beforeAll(async () => {
    provider.serve(stack.dashboardOrigin);
    ({ organizationId } = await stack.operator.customer({ organization: { name: 'Acme' } }));
  });

  showLogsOnFailure(() => stack);

  const person = (subject: string, claims: object = {}) =>
    provider.people.set(subject, { email: `${subject}@people.example`, email_verified: true, ...claims });

  async function signInAt(page: Page, subject: string): Promise<void> {
    await page.goto('/sign-in');
    await signInByIssuer(page, subject);
  }

  const isInside = (url: URL) => url.origin === stack.dashboardOrigin && !url.pathname.startsWith('/sign-in');

  test('an invited person joins from the link through the issuer, and signs out there too', async () => {
    person('vera');
    const password = await stack.createUser('owner@acme.example', { organizationId, role: 'owner' });
    const owner = await openPage(stack);
    await signIn(owner.page, 'owner@acme.example', password);
    await owner.page.goto(`/o/${organizationId}/members?dialog=invite`);
    const form = owner.page.getByRole('dialog', { name: 'Invite someone' });
    await form.getByLabel('Email').fill('vera@people.example');
    await form.getByRole('button', { name: 'Invite', exact: true }).click();
    const link = await owner.page.getByText(/\/link#/).innerText();

    const { page, complaints } = await openPage(stack);
    await page.goto(link);
    await page.getByRole('heading', { name: 'Join Acme', level: 1 }).waitFor();
    await page.getByRole('button', { name: /^Sign in with localhost/ }).waitFor();
    await expectGoodLooks(page, 'sso-join');
    await page.getByRole('button', { name: /^Sign in with localhost/ }).click();
    await proveAtIssuer(page, 'vera');
    await page.getByRole('button', { name: 'Join', exact: true }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/o/'));
    await page.getByRole('button', { name: /vera@people\.example/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: /sign me out/i }).click();
    await page.waitForURL((url) => url.origin === stack.dashboardOrigin && url.pathname === '/sign-in');
    await page.getByRole('button', { name: /^Sign in with localhost/ }).click();
    // The issuer asks for the subject again.
    await page.getByLabel('Subject').waitFor();
    expect(complaints()).toEqual([]);
  });

  test('a sign-in returns to the page that required it, and its code is not in the history', async () => {
    const { page, complaints } = await openPage(stack, { width: 390, colorScheme: 'dark' });
    await page.goto(`/o/${organizationId}/models`);
    await page.getByRole('button', { name: /^Sign in with localhost/ }).waitFor();
    await expectGoodLooks(page, 'sso-way-back');
    await page.getByRole('button', { name: /^Sign in with localhost/ }).click();
    await proveAtIssuer(page, 'vera');
    await page.waitForURL((url) => url.pathname === `/o/${organizationId}/models`);
    expect(complaints()).toEqual([]);
  });

  test('an unverified address and one without an account get an error with advice', async () => {
    person('mallory', { email: 'owner@acme.example', email_verified: false });
    person('stranger');
    const { page } = await openPage(stack);
    await signInAt(page, 'mallory');
    await page.getByText('has not verified your email address').waitFor();
    expect(new URL(page.url()).search).toBe('');
    await expectGoodLooks(page, 'sso-unverified');
    await page.reload();
    await page.getByText('This sign-in has expired').waitFor();
    const other = await openPage(stack);
    await signInAt(other.page, 'stranger');
    await other.page.getByText('There is no account for stranger@people.example').waitFor();
  });

  test('an account with a password is connected on its own page, and the issuer signs it in from then on', async () => {
    person('ken');
    const { page, complaints } = await openPage(stack);
    const password = await stack.createUser('ken@people.example', { organizationId, role: 'member' });
    await signInAt(page, 'ken');
    await page.getByText('has a password. Sign in with it').waitFor();
    await signIn(page, 'ken@people.example', password);
    await page.goto('/account');
    await page.getByRole('button', { name: /^Connect localhost/ }).waitFor();
    await expectGoodLooks(page, 'sso-connect');
    await page.getByRole('button', { name: /^Connect localhost/ }).click();
    // The button disappears already when the browser leaves for the issuer.
    const session = async () => (await page.request.get('/api/session')).json();
    await expect.poll(session).toMatchObject({ signedInBy: 'issuer' });
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor();
    await page.getByRole('button', { name: /^Connect localhost/ }).waitFor({ state: 'detached' });
    const fresh = await openPage(stack);
    await signInAt(fresh.page, 'ken');
    await fresh.page.waitForURL(isInside);
    expect(complaints()).toEqual([]);
  });

  test('an operator by claim confirms his identity over a form, and loses the rights without the claim', async () => {
    person('ops', { groups: ['gateway-operators'] });
    const { page, complaints } = await openPage(stack);
    await signInAt(page, 'ops');
    await page.waitForURL(isInside);
    await sql(stack.databaseUrl, "update sessions set password_at = password_at - interval '1 hour'");
    await page.goto('/operator/organizations');
    await page.getByRole('button', { name: 'Actions for Acme' }).click();
    await page.getByRole('menuitem', { name: 'Add credit' }).click();
    await page.getByLabel('Amount').fill('5');
    await page.getByRole('dialog').getByRole('button', { name: /^Add / }).click();
    const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
    await asked.waitFor();
    await expectGoodLooks(page, 'sso-confirm');
    await confirmAtIssuer(page, 'ops');
    await page.getByLabel('Amount').waitFor({ state: 'detached' });
    expect(complaints()).toEqual([]);
    person('ops');
    const later = await openPage(stack);
    await signInAt(later.page, 'ops');
    await later.page.waitForURL(isInside);
    await page.reload();
    await page.waitForURL((url) => url.pathname === '/sign-in');
    expect(await barriers(later.page)).toEqual([]);
  });

  test('without passwords there is one button, and the command line can still grant access', async () => {
    const former = await stack.createUser('old@gateway.example', 'operator');
    stack.writeConfig({
      ...{ providers: { fake: { base_url: stack.provider.baseUrl } }, models: { small: {} } },
      sign_in: { ...provider.signIn, password: false },
    });
    const { page, complaints } = await openPage(stack);
    await expect.poll(async () => (await page.request.get('/api/sign-in')).json()).toMatchObject({ password: false });
    await page.goto('/sign-in');
    await page.getByRole('button', { name: /^Sign in with localhost/ }).waitFor();
    expect(await page.getByLabel('Password', { exact: true }).count()).toBe(0);
    await expectGoodLooks(page, 'sso-only');
    const made = await runCommandLine(['user', 'sign-in-link', 'old@gateway.example'], {
      DATABASE_URL: stack.databaseUrl,
    });
    if (made.kind !== 'done') throw new Error(made.message);
    expect(JSON.stringify(made.json)).not.toContain(former);
    await page.goto((made.json as { path: string }).path);
    await page.getByText('As old@gateway.example.').waitFor();
    await expectGoodLooks(page, 'sso-link');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(isInside);
    expect(complaints()).toEqual([]);
  });
});

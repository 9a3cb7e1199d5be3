import { beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { createGate } from '../provider/gate.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { actAfterEnd } from './ended-session.ts';

/** A session ends while its user types. */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));
  let organizationId: string;
  let password: string;
  let owner: WatchedPage;
  const EMAIL = 'owner@acme.example';

  beforeAll(async () => {
    ({ organizationId } = await stack.operator.customer({ credit: '10', organization: { name: 'Acme' } }));
    password = await stack.createUser(EMAIL, { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await signIn(owner.page, EMAIL, password);
  });

  showLogsOnFailure(() => stack);

  const endSessions = () => sql(stack.databaseUrl, 'delete from sessions');

  test('the contents of a form survive the end of the session, and the password is requested over the form', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/keys?dialog=create`, { waitUntil: 'networkidle' });
    const form = page.getByRole('dialog', { name: 'Create an API key' });
    await form.getByLabel('Name').fill('Nightly reports');
    await actAfterEnd(page, endSessions, () => form.getByRole('button', { name: 'Create key' }).click());
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByLabel('Password', { exact: true }).fill('not the password');
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.getByText('The email address or the password is wrong.').waitFor();
    await again.getByLabel('Password', { exact: true }).fill(password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Name').inputValue()).toBe('Nightly reports');
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(
      'Nightly',
    );
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: /Your new key/ }).waitFor();
  });

  test('without a form the page is left when its session has ended', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/credits`, { waitUntil: 'networkidle' });
    await page.getByRole('heading', { name: 'Credits', level: 1 }).waitFor();
    await actAfterEnd(page, endSessions, () => page.getByRole('link', { name: 'API keys' }).click());
    await page.waitForURL((url) => url.pathname === '/sign-in');
    await signIn(page, EMAIL, password);
  });

  test('a request of a session that another tab has replaced does not end at the sign-in page', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/credits`, { waitUntil: 'networkidle' });
    const keys = /\/api\/.*keys/;
    await page.route(keys, (route) => route.fulfill({ status: 401 }), { times: 1 });
    const served = page.waitForResponse((response) => keys.test(response.url()) && response.ok());
    await page.getByRole('link', { name: 'API keys' }).click();
    await served;
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  });

  test('after a new sign-in in one tab, another tab continues where it was', async () => {
    const { page } = owner;
    const other = await page.context().newPage();
    await other.goto(`/o/${organizationId}/requests`, { waitUntil: 'networkidle' });
    await other.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    await actAfterEnd(other, endSessions, () => other.getByRole('link', { name: 'Credits' }).click());
    await other.waitForURL((url) => url.pathname === '/sign-in');
    await signIn(page, EMAIL, password);
    // Both tabs are visible, as windows beside each other are.
    await other.getByRole('heading', { name: 'Credits', level: 1 }).waitFor();
    const again = [page, other].map((tab) => tab.getByRole('dialog', { name: 'Sign in again' }));
    for (const tab of [page, other]) {
      await tab.goto(`/o/${organizationId}/settings`, { waitUntil: 'networkidle' });
      await tab.getByLabel('Legal name').fill('Typed here');
    }
    await endSessions();
    for (const tab of [page, other]) await tab.getByRole('button', { name: 'Save' }).click();
    await again[1]?.waitFor();
    await again[0]?.getByLabel('Password', { exact: true }).fill(password);
    await again[0]?.getByRole('button', { name: 'Sign in' }).click();
    await again[1]?.waitFor({ state: 'detached' });
    expect(await other.getByLabel('Legal name').inputValue()).toBe('Typed here');
    await other.close();
  });

  test('a form on a page keeps what a colleague saved, and asks before it is left unsaved', async () => {
    const { page } = owner;
    const path = `/api/organizations/${organizationId}/settings`;
    await page.goto(`/o/${organizationId}/settings`);
    const save = async (label: string, text: string) => {
      await page.getByLabel(label).fill(text);
      const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
      await page.getByRole('button', { name: 'Save' }).click();
      await saved;
      await page.locator('button:not([aria-busy])', { hasText: 'Save' }).waitFor();
    };
    await page.getByLabel('VAT or tax ID').waitFor();
    // As a colleague does in another browser.
    await page.request.patch(path, { data: { taxId: 'DE222' }, headers: { origin: stack.dashboardOrigin } });
    await save('Billing address', 'Elm Street 1');
    await expect.poll(() => page.getByLabel('VAT or tax ID').inputValue()).toBe('DE222');
    await save('Legal name', 'Acme Inc');
    expect(await (await page.request.get(path)).json()).toMatchObject({ taxId: 'DE222', legalName: 'Acme Inc' });

    await page.getByRole('link', { name: 'Credits' }).click();
    await page.getByRole('heading', { name: 'Credits', level: 1 }).waitFor();
    await page.goto(`/o/${organizationId}/alerts`);
    await page.getByLabel('Balance below').fill('99');
    await page.getByRole('link', { name: 'Credits' }).click();
    const asked = page.getByRole('dialog', { name: 'Leave without saving?' });
    await asked.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByLabel('Balance below').inputValue()).toBe('99');
    await page.getByRole('link', { name: 'Credits' }).click();
    await asked.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('heading', { name: 'Credits', level: 1 }).waitFor();
  });

  test('alerts follow a colleague, and a question about leaving ends with the save', async () => {
    const { page } = owner;
    const path = `/api/organizations/${organizationId}/alerts`;
    await page.goto(`/o/${organizationId}/alerts`);
    const emails = page.getByLabel('Email addresses');
    await emails.fill('me@acme.example');
    await emails.press('Enter');
    // As a colleague does in another browser.
    const data = { emails: ['colleague@acme.example'] };
    await page.request.patch(path, { data, headers: { origin: stack.dashboardOrigin } });
    await page.getByText('colleague@acme.example').waitFor();
    const gate = createGate();
    await page.route(`**${path}`, async (route) => {
      if (route.request().method() === 'PATCH') await gate.pass();
      await route.fallback();
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Credits' }).click();
    const asked = page.getByRole('dialog', { name: 'Leave without saving?' });
    await asked.waitFor();
    gate.open();
    await asked.waitFor({ state: 'detached' });
    await page.unrouteAll({ behavior: 'wait' });
    expect(await (await page.request.get(path)).json()).toMatchObject({
      settings: { emails: ['colleague@acme.example', 'me@acme.example'] },
    });
  });

  test('saving a key keeps what a colleague added to its lists meanwhile', async () => {
    const { page } = owner;
    const keys = `/api/organizations/${organizationId}/keys`;
    const headers = { origin: stack.dashboardOrigin };
    const restricted = { name: 'Shared', scopes: ['chat'], models: ['small'], ipRanges: ['10.0.0.0/8'] };
    const { key } = await (await page.request.post(keys, { data: restricted, headers })).json();
    await page.clock.install();
    await page.goto(`/o/${organizationId}/keys?key=${key.id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    const form = page.getByRole('dialog', { name: 'Edit “Shared”' });
    await form.getByText('Addresses', { exact: true }).click();
    await form.getByLabel('Allowed addresses').fill('192.0.2.1');
    await form.getByLabel('Allowed addresses').press('Enter');
    // As a colleague does in another browser.
    const data = { models: null, note: 'Theirs', ipRanges: ['10.0.0.0/8', '192.0.2.2'] };
    await page.request.patch(`${keys}/${key.id}`, { data, headers });
    // The list is fetched again while the dialog is open.
    await page.clock.fastForward(20_000);
    await page.getByText('Theirs').first().waitFor();
    await form.getByRole('button', { name: 'Save changes' }).click();
    await form.waitFor({ state: 'detached' });
    const saved = await (await page.request.get(keys)).json();
    const ours = saved.keys.find(({ id }: { readonly id: string }) => id === key.id);
    expect(ours).toMatchObject({ note: 'Theirs', ipRanges: ['10.0.0.0/8', '192.0.2.2', '192.0.2.1'] });
    expect(ours).not.toHaveProperty('models');
  });

  test('a user who signs in in another tab sees nothing that the former user typed', async () => {
    const [ann, bob] = ['ann@acme.example', 'bob@acme.example'];
    const { page } = await openPage(stack);
    const password = await stack.createUser(ann, { organizationId, role: 'owner' });
    await signIn(page, ann, password);
    await page.goto(`/o/${organizationId}/playground`);
    const message = page.getByRole('textbox', { name: 'Message', exact: true });
    await message.fill('Typed by Ann');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Legal name').fill('Unsaved by Ann');
    const other = await page.context().newPage();
    await other.goto('/');
    await other.request.delete('/api/session', { data: {}, headers: { origin: stack.dashboardOrigin } });
    await signIn(other, bob, await stack.createUser(bob, { organizationId, role: 'owner' }));
    // Both tabs are visible, as windows beside each other are.
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.getByText(bob).first().waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByText('Balance of Acme').waitFor();
    expect(await message.inputValue()).toBe('');
    // Without a message of the other tab, the page notices it when it is looked at.
    const headers = { origin: stack.dashboardOrigin };
    await page.request.post('/api/session', { data: { email: ann, password }, headers });
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
    await page.getByText(ann).first().waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByText('Balance of Acme').waitFor();
    // This tab names Bob until it asks for its session again, after a minute at most.
    await other.getByRole('button', { name: new RegExp(`${bob}|${ann}`) }).click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    await page.context().close();
  });

  test('text typed for one organization is not in the form of another', async () => {
    const other = await stack.operator.customer({ organization: { name: 'Beta' } });
    const { page } = await openPage(stack);
    const email = 'operator@gateway.example';
    await signIn(page, email, await stack.createUser(email, 'operator'));
    const to = (organization: string) =>
      // Navigates as back and forward do, without reloading the page.
      page.evaluate(
        `history.pushState(null, '', '/o/${organization}/playground'); dispatchEvent(new PopStateEvent('popstate'))`,
      );
    await page.goto(`/o/${other.organizationId}/playground`);
    await page.getByText('Balance of Beta').waitFor();
    await to(organizationId);
    await page.getByText('Balance of Acme').waitFor();
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Typed for Acme');
    await to(other.organizationId);
    await page.getByText('Balance of Beta').waitFor();
    expect(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).toBe('');
    await to(organizationId);
    await page.getByText('Balance of Acme').waitFor();
    expect(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).toBe('Typed for Acme');
    await page.context().close();
  });
});

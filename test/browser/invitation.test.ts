import { beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';

/**
 * Two organizations invite the same person, who has no account at the first invitation and one at
 * the second.
 */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));
  const owners = {} as Record<'Acme' | 'Bolt', WatchedPage>;
  const ids = {} as Record<'Acme' | 'Bolt', string>;
  const EMAIL = 'vera@people.example';
  const PASSWORD = 'correct horse battery';

  beforeAll(async () => {
    for (const name of ['Acme', 'Bolt'] as const) {
      const { organizationId } = await stack.operator.customer({ organization: { name } });
      ids[name] = organizationId;
      owners[name] = await openPage(stack);
      const email = `owner@${name.toLowerCase()}.example`;
      await signIn(owners[name].page, email, await stack.createUser(email, { organizationId, role: 'owner' }));
    }
  });

  showLogsOnFailure(() => stack);

  /** Creates an invitation and returns its link. */
  async function invite(to: 'Acme' | 'Bolt', email = EMAIL): Promise<string> {
    const { page } = owners[to];
    await page.goto(`/o/${ids[to]}/members?dialog=invite`);
    const form = page.getByRole('dialog', { name: 'Invite someone' });
    await form.getByLabel('Email').fill(email);
    await form.getByRole('button', { name: 'Invite', exact: true }).click();
    const link = await page.getByText(/\/link#/).innerText();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: new RegExp(`${email}.*Invited`) }).waitFor();
    return link;
  }

  test('a new person joins with a password, sees the other invitation, and joins there with the same account', async () => {
    const [toAcme, toBolt] = [await invite('Acme'), await invite('Bolt')];
    const vera = await openPage(stack, { width: 390, colorScheme: 'dark' });
    const { page } = vera;
    await page.goto(toBolt);
    await page.getByRole('heading', { name: 'Join Bolt', level: 1 }).waitFor();
    await page.getByText('For vera@people.example, to join Bolt as a member.').waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);
    await page.getByLabel('New password').fill('eleven char');
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.getByText('This is too short.').waitFor();
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.waitForURL((url) => url.pathname === '/account');
    await page.getByText('Acme, as a member').waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);
    await page.goto(toAcme);
    await page.getByRole('button', { name: 'Join', exact: true }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/o/'));
    expect(vera.complaints()).toEqual([]);
    await owners.Acme.page.reload();
    await owners.Acme.page.getByRole('row', { name: new RegExp(`${EMAIL}.*Active`) }).waitFor();
  });

  test('a person whose dashboard ended after it had set the password is led to the sign-in', async () => {
    const link = await invite('Bolt', 'otto@people.example');
    const { page } = await openPage(stack);
    await page.goto(link);
    await page.route('**/api/password-links/use', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.getByText('The dashboard server cannot be reached.').waitFor();
    await page.unroute('**/api/password-links/use');
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.getByText('If you used it yourself, sign in.').waitFor();
    // The cookie of the lost response.
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(page, 'otto@people.example', PASSWORD);
    await page.getByText('Bolt').first().waitFor();
  });

  test('a person with an account who is not signed in is asked for its password', async () => {
    const { page } = owners.Acme;
    await page.getByRole('button', { name: `Actions for ${EMAIL}` }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText(`${EMAIL} was removed.`).waitFor();
    const link = await invite('Acme');
    const vera = await openPage(stack);
    await vera.page.goto(link);
    await vera.page.getByLabel('New password').fill('another password of hers');
    await vera.page.getByRole('button', { name: 'Set password and sign in' }).click();
    await vera.page.getByText('This address already has an account, and this is not its password.').waitFor();
    await vera.page.getByRole('radio', { name: 'Existing account', checked: true }).waitFor();
    await vera.page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await vera.page.getByRole('button', { name: 'Sign in and join' }).click();
    await vera.page.waitForURL((url) => url.pathname.startsWith('/o/'));
    expect(vera.complaints()).toEqual([]);
  });
});

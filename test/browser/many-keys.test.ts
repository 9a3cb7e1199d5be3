import { readFile } from 'node:fs/promises';
import { describe, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { errorOf, gatewayClient } from '../harness/gateway-client.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack } from './dashboard-stack.ts';
import { flaws, TWO_LOOKS } from './looks.ts';

const DAY_MS = 86_400_000;

/** An owner manages many keys, some of which expire or are unused. */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));

  showLogsOnFailure(() => stack);

  describe.each(TWO_LOOKS)('on %s', (_, width, colorScheme) => {
    test("a key's note and budgets appear in the list", async () => {
      const { organizationId, keyId } = await stack.operator.customer({ key: { name: 'Batch' } });
      await sql(
        stack.databaseUrl,
        `insert into key_daily_spend select '${keyId}', (now() at time zone 'UTC')::date - n, 9000000000 from generate_series(0, 70) n`,
      );
      const email = `a-writer-with-a-long-address-${width}@acme.example`;
      const password = await stack.createUser(email, { organizationId, role: 'owner' });
      const author = `(select id from users where email = '${email}')`;
      await sql(stack.databaseUrl, `update keys set created_by = ${author} where id = '${keyId}'`);
      const { page, complaints } = await openPage(stack, { width, colorScheme });
      await signIn(page, email, password);
      await page.goto(`/o/${organizationId}/keys?key=${keyId}`);
      await page.getByRole('button', { name: 'Edit' }).click();
      const form = page.getByRole('dialog', { name: 'Edit “Batch”' });
      const note = 'Ask Bo <img src=x onerror=alert(1)>';
      await form.getByLabel('Note').fill(note);
      await form.locator('summary', { hasText: 'Limits' }).click();
      await form.getByLabel('Daily budget').fill('10');
      await form.getByLabel('Monthly budget').fill('8');
      await form.getByLabel('Lifetime budget').fill('1000');
      const found = await flaws(page);
      await page.getByRole('button', { name: 'Save changes' }).click();
      await page.getByText('Key “Batch” changed.').waitFor();
      const drawer = page.getByRole('dialog', { name: 'Batch' });
      await drawer.getByText(note).waitFor();
      await drawer.getByText('of $1,000 in total').waitFor();
      const bar = drawer.getByRole('progressbar', { name: 'Spent of $1,000 in total' });
      expect(await bar.getAttribute('aria-valuetext')).toBe('$639.00 of $1,000.00');
      found.push(...(await flaws(page)));
      await page.keyboard.press('Escape');
      const row = page.getByRole('row', { name: /Batch/ });
      await row.getByText(note).waitFor();
      for (const budget of ['of $10/day', 'of $8/month', 'of $1,000 in total']) await row.getByText(budget).waitFor();
      if (width > 1200) {
        const owner = await row.getByText(email).boundingBox();
        const menu = await row.getByRole('button', { name: 'Actions for Batch' }).boundingBox();
        expect((owner?.x ?? 0) + (owner?.width ?? 0)).toBeLessThanOrEqual(menu?.x ?? 0);
      }
      found.push(...(await flaws(page)));
      expect([...found, ...complaints()]).toEqual([]);
    });

    test('several keys are extended, exported and revoked at once', async () => {
      const { organizationId, key } = await stack.operator.customer({ key: { name: 'In use' } });
      const add = (name: string, more: object = {}) =>
        stack.operator.addKey(organizationId, { key: { name, ...more } });
      await add('Nightly report', { expiresAtMs: Date.now() + 3 * DAY_MS });
      for (const name of ['Old trial', 'Workshop']) await add(name, { expiresAtMs: Date.now() - DAY_MS });
      const idle = await add('Idle');
      const ago = "now() - interval '200 days'";
      await sql(stack.databaseUrl, `update keys set created_at = ${ago} where id = '${idle.keyId}'`);
      const email = `owner-${width}@acme.example`;
      const password = await stack.createUser(email, { organizationId, role: 'owner' });
      const { page, complaints } = await openPage(stack, { width, colorScheme });
      const found: string[] = [];
      const look = async (what: string) => {
        for (const flaw of await flaws(page)) found.push(`${what}: ${flaw}`);
      };
      await signIn(page, email, password);
      await page.goto(`/o/${organizationId}/keys`);

      const notice = page.getByRole('status').filter({ hasText: '1 key expires within 7 days' });
      await notice.waitFor();
      await page.getByRole('button', { name: 'Key', exact: true }).click();
      await page.waitForURL((url) => url.searchParams.get('sort') === 'name');
      const rows = page.getByRole('table', { name: 'API keys' }).locator('tbody tr');
      await expect.poll(() => rows.first().innerText()).toContain('Idle');
      await look('list');
      await notice.getByRole('button', { name: 'Extend' }).click();
      await page.getByRole('dialog').getByText('The key works longer').waitFor();
      await look('extend');
      await page.getByRole('button', { name: 'Extend key' }).click();
      await page.getByText(/Key “Nightly report” works until/).waitFor();
      await notice.waitFor({ state: 'detached' });

      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Export CSV' }).click();
      const csv = await readFile(await (await download).path(), 'utf8');
      const names = csv
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(',')[1]);
      expect(names.toSorted()).toEqual(['Idle', 'In use', 'Nightly report', 'name'].toSorted());

      const select = page.getByRole('button', { name: 'Select', exact: true });
      await select.focus();
      for (const name of ['Done', 'Select', 'Done']) {
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name, exact: true }).and(page.locator(':focus')).waitFor();
      }
      await page.getByRole('checkbox', { name: 'Nightly report' }).check();
      await page.getByText('1 key selected').waitFor();
      await look('selection');
      await page.getByRole('button', { name: 'Select keys' }).click();
      await page.getByRole('menuitem', { name: 'Expired' }).click();
      await page.getByText('2 keys selected · 2 not in this list').waitFor();
      await page.getByRole('checkbox', { name: 'In use' }).check();
      await page.getByRole('button', { name: 'Revoke selected' }).click();
      const dialog = page.getByRole('alertdialog').or(page.getByRole('dialog'));
      await expect.poll(() => dialog.getByRole('listitem').allInnerTexts()).toHaveLength(3);
      await look('confirmation');
      await dialog.getByRole('button', { name: 'Revoke 3 keys' }).click();
      await page.getByText('3 keys revoked.').waitFor();
      await select.waitFor();
      const client = gatewayClient(stack.origin, key);
      expect(errorOf(await client.chat({ model: 'small' })).code).toBe('key_revoked');
      client.close();

      await select.click();
      await page.getByRole('button', { name: 'Select keys' }).click();
      await page.getByRole('menuitem', { name: 'Unused for 90 days' }).click();
      await page.getByRole('button', { name: 'Revoke selected' }).click();
      await page.getByRole('button', { name: 'Revoke 1 key' }).click();
      await page.getByText('1 key revoked.').waitFor();
      const left = `select name from keys where organization_id = '${organizationId}' and revoked_at is null`;
      expect(await sql(stack.databaseUrl, left)).toEqual([{ name: 'Nightly report' }]);
      expect([...found, ...complaints()]).toEqual([]);
    });
  });
});

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { stall, streamAnswer, streamThen } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';

const HOSTILE = `**bold** <img src=x onerror="window.hacked=1"><script>window.hacked=1</script> [a](javascript:hacked=1)`;

/** A member plays in a real browser, through the dashboard's server, Envoy and the gateway. */
requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let member: WatchedPage;
  let page: Page;
  let password: string;

  beforeAll(async () => {
    stack = await startDashboardStack(inject('postgresSocketDir'), {
      small: { usd_per_million_tokens: { input: 100, output: 200 } },
      large: {},
      slow: {},
    });
    ({ organizationId } = await stack.operator.customer({
      credit: '10',
      organization: { name: 'Acme' },
      key: { name: 'Only large', models: ['large'] },
    }));
    password = await stack.createUser('member@acme.example', { organizationId, role: 'member' });
    member = await openPage(stack);
    ({ page } = member);
    await signIn(page, 'member@acme.example', password);
    await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
  });

  afterAll(() => stack?.close());

  showLogsOnFailure(() => stack);

  const answers = () => page.getByRole('article').filter({ hasNot: page.getByRole('heading', { name: 'You' }) });
  const say = async (text: string) => {
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
  };

  test('a stream is seen growing, then its tokens, its cost and its line in the log', async () => {
    const gate = createGate();
    const pieces = ['Once upon', ' a time', ' there was', ' a gateway.'];
    stack.provider.script(
      'small',
      streamAnswer({ pieces, onEvent: (index) => (index === 3 ? gate.pass() : undefined) }),
    );
    await page.getByLabel('Model').selectOption('small');
    await page.getByLabel('System message').fill('You are a poet.');
    await say('Tell me a story.');
    await answers().last().getByText('Once', { exact: false }).waitFor();
    await gate.waitFor(1);
    expect(await answers().last().textContent()).not.toContain('gateway.');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    gate.open();
    await answers().last().getByText(pieces.join('')).waitFor();
    // 10 tokens at 100 and 5 at 200 USD per million.
    await answers().last().getByText('10 in, 5 out').waitFor();
    await answers().last().getByText('$0.002').waitFor();
    await answers().last().getByRole('link', { name: 'Show in the log' }).waitFor();
    expect(stack.provider.requests('small')[0]?.json).toMatchObject({
      messages: [
        { role: 'system', content: 'You are a poet.' },
        { role: 'user', content: 'Tell me a story.' },
      ],
    });
    await expect.poll(() => stack.operator.balance(organizationId)).toBe(9.998);
    await page.getByText('its balance is $10.00').waitFor();
  });

  test('the next message is sent with the conversation, and nothing in an answer is executed', async () => {
    stack.provider.script('small', streamAnswer({ pieces: [HOSTILE] }));
    await say('And now?');
    await answers().last().getByText(HOSTILE).waitFor();
    await answers().last().getByText('10 in, 5 out').waitFor();
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(
      await page.getByRole('list', { name: 'Conversation' }).locator('img, script, strong, a[href^=j]').count(),
    ).toBe(0);
    expect(stack.provider.requests('small')[1]?.json?.messages).toHaveLength(4);
  });

  test('the same request as code has a key to fill in, and none of ours', async () => {
    await page.getByLabel('Message', { exact: true }).fill('Third');
    for (const language of ['curl', 'Python', 'TypeScript']) {
      await page.getByRole('tab', { name: language }).click();
      const code = await page.getByRole('tabpanel').innerText();
      for (const part of ['You are a poet.', 'Third', 'YOUR_API_KEY', '1000', `${stack.origin}/v1`])
        expect(code).toContain(part);
    }
    const [key] = await sql<{ last4: string }>(stack.databaseUrl, 'select last4 from keys where playground');
    expect(await page.content()).not.toContain(`…${key?.last4}`);
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain('poet');
    expect(page.url()).not.toContain('poet');
  });

  test('a request that is stopped ends at the provider, and is charged as one that was left', async () => {
    stack.provider.script('slow', streamThen(3, stall));
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByLabel('Model').selectOption('slow');
    // By the keyboard alone, from the message box on.
    const box = page.getByLabel('Message', { exact: true });
    await box.focus();
    await page.keyboard.type('Hello');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('again');
    await page.keyboard.press('Enter');
    await answers().last().getByText('Hello', { exact: false }).waitFor();
    expect(await box.inputValue()).toBe('');
    await page.keyboard.press('Escape');
    await answers()
      .last()
      .getByText(/^Stopped/)
      .waitFor();
    await answers().last().getByRole('link', { name: 'Show in the log' }).waitFor();
    const [row] = await sql<{ gone: boolean; cost: string }>(
      stack.databaseUrl,
      "select client_gone as gone, cost_nano_usd as cost from request_log where model = 'slow'",
    );
    expect(row?.gone).toBe(true);
    expect(Number(row?.cost)).toBeGreaterThan(0);
    const [generation] = await sql(stack.databaseUrl, "select cancelled from generations where model = 'slow'");
    expect(generation).toEqual({ cancelled: true });
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('TEXTAREA');
  });

  test('a model that a key lacks is refused as with that key', async () => {
    await page.getByLabel('Restrictions of a key').selectOption({ label: await labelOf(page, 'Only large') });
    await say('Hello');
    await answers().last().getByText('403 model_not_allowed').first().waitFor();
    await answers().last().getByText('What to do').waitFor();
    await page.getByLabel('Model').selectOption('large');
    await say('Hello');
    await answers().last().getByText('Hello from the provider.').waitFor();
    await page.getByLabel('Restrictions of a key').selectOption('');
  });

  test('a balance that is too low is told with what to do', async () => {
    await stack.operator.credit(organizationId, '-9.85');
    await page.getByLabel('Model').selectOption('small');
    await say('Hello');
    await answers().last().getByText('402 insufficient_credits').first().waitFor();
    await answers().last().getByText('No. Top up', { exact: false }).waitFor();
    await answers()
      .last()
      .getByText(/would be admitted now/)
      .waitFor();
    await answers().last().getByText('Not charged').waitFor();
  });

  test('a session that has ended is asked for over the page, and nothing that was said is lost', async () => {
    await stack.operator.credit(organizationId, '5');
    await sql(stack.databaseUrl, "update sessions set last_seen_at = now() - interval '1 year'");
    await say('Still here?');
    const prompt = page.getByRole('dialog', { name: 'Sign in again' });
    await prompt.getByLabel('Password', { exact: true }).fill(password);
    await prompt.getByRole('button', { name: 'Sign in' }).click();
    await prompt.waitFor({ state: 'detached' });
    await answers().last().getByRole('button', { name: 'Send again' }).click();
    await answers().last().getByText('10 in, 5 out').waitFor();
    expect(await page.getByRole('article').getByText('Still here?').count()).toBe(1);
  });

  test('has good looks on phone and desktop', { timeout: 60_000 }, async () => {
    await expectGoodLooks(page, 'playground');
  });

  test('its key is in no list, and a request that is left with the page ends', async () => {
    stack.provider.script('slow', streamThen(3, stall));
    await page.getByLabel('Model').selectOption('slow');
    await say('Leave');
    await answers().last().getByText('Hello', { exact: false }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('table').getByText('Only large').waitFor();
    expect(await page.getByRole('table').getByText('Playground').count()).toBe(0);
    await expect.poll(() => stack.provider.requests('slow').at(-1)?.hungUp, { timeout: 20_000 }).toBe(true);
    const living = 'select from keys where playground and revoked_at is null and expires_at > now()';
    expect(await sql(stack.databaseUrl, living)).toHaveLength(1);
    expect(member.complaints()).toEqual([]);
  });
});

async function labelOf(page: Page, name: string): Promise<string> {
  const options = await page.getByLabel('Restrictions of a key').locator('option').allTextContents();
  return options.find((option) => option.includes(name)) ?? '';
}

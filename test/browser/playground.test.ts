import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { plainAnswer, stall, streamAnswer, streamThen } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { actAfterEnd } from './ended-session.ts';
import { expectGoodLooks } from './looks.ts';

const HOSTILE = `**bold** <img src=x onerror="window.hacked=1"><script>window.hacked=1</script> [a](javascript:hacked=1)`;

const CALLS = [{ id: 'call_1', name: 'look', arguments: '{"at":"sky"}' }];
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/**
 * A member uses the playground in a real browser, through the dashboard's server, Envoy and the
 * gateway.
 */
requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let member: WatchedPage;
  let page: Page;
  let password: string;

  beforeAll(async () => {
    stack = await startDashboardStack(inject('postgresSocketDir'), {
      small: { usd_per_million_tokens: { input: 100, output: 200 } },
      large: {
        usd_per_million_tokens: { input: 2, output: 4 },
        reasoning_efforts: ['low', 'high'],
        capabilities: ['tools', 'vision'],
      },
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

  test('a stream grows on the page, which then shows its tokens, its cost and a link to its log entry', async () => {
    const gate = createGate();
    const pieces = ['Once upon', ' a time', ' there was', ' a gateway.'];
    stack.provider.script(
      'small',
      streamAnswer({ pieces, onEvent: (index) => (index === 3 ? gate.pass() : undefined) }),
    );
    await page.getByLabel('Model', { exact: true }).selectOption('small');
    await page.getByLabel('System message').fill('You are a poet.');
    const widthOf = async (label: string) => (await page.getByLabel(label, { exact: true }).boundingBox())?.width ?? 0;
    expect(await widthOf('Message')).toBeGreaterThan(await widthOf('Model'));
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
    await page.getByText('Balance of Acme: $10.00').waitFor();
  });

  test('the next message is sent with the conversation, Markdown is rendered, and nothing in a response is executed', async () => {
    stack.provider.script('small', streamAnswer({ pieces: [HOSTILE] }));
    await say('And now?');
    await answers().last().getByText('10 in, 5 out').waitFor();
    expect(await answers().last().locator('strong').textContent()).toBe('bold');
    await answers().last().getByText(HOSTILE.replace('**bold** ', '')).waitFor();
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await page.getByRole('list', { name: 'Conversation' }).locator('img, script, a[href^=j]').count()).toBe(0);
    expect(stack.provider.requests('small')[1]?.json?.messages).toHaveLength(4);
  });

  test('the code of the same request has a placeholder for the key', async () => {
    await page.getByLabel('Message', { exact: true }).fill('Third');
    for (const language of ['curl', 'Python', 'TypeScript']) {
      await page.getByRole('tab', { name: language }).click();
      for (const part of ['You are a poet.', 'Third', 'YOUR_API_KEY', '1000', `${stack.origin}/v1`])
        await expect.poll(() => page.getByRole('tabpanel', { name: language }).innerText()).toContain(part);
    }
    const [key] = await sql<{ last4: string }>(stack.databaseUrl, 'select last4 from keys where playground');
    expect(await page.content()).not.toContain(`…${key?.last4}`);
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain('poet');
    expect(page.url()).not.toContain('poet');
  });

  test('a stopped request ends at the provider, and is charged like one whose client disconnected', async () => {
    stack.provider.script('slow', streamThen(3, stall));
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByLabel('Model', { exact: true }).selectOption('slow');
    // Uses only the keyboard, starting from the message box.
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
    const charged = () => sql(stack.databaseUrl, "select cancelled from generations where model = 'slow'");
    await expect.poll(charged).toEqual([{ cancelled: true }]);
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('TEXTAREA');
    // By the mouse, which leaves the next message unsent.
    await say('Go on');
    await answers().last().getByText('Hello', { exact: false }).waitFor();
    await box.fill('My next thought');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    expect([await answers().count(), await box.inputValue()]).toEqual([2, 'My next thought']);
    await box.fill('');
  });

  test('the page follows a growing response unless the reader has scrolled up', async () => {
    const gates = [createGate(), createGate()];
    const line = 'Line after line of a long answer.\n\n';
    const pieces = Array.from({ length: 12 }, () => line.repeat(10));
    const passes = (index: number) => (index === 4 ? gates[0]?.pass() : index === 8 ? gates[1]?.pass() : undefined);
    stack.provider.script('small', streamAnswer({ pieces, onEvent: passes }));
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByLabel('Model', { exact: true }).selectOption('small');
    await say('At length, please.');
    await gates[0]?.waitFor(1);
    const seen = () => page.evaluate('Math.round(window.scrollY)').then(Number);
    const isInView = async (name: string) => {
      const { y = -1, height = 0 } = (await page.getByRole('button', { name, exact: true }).boundingBox()) ?? {};
      return y >= 0 && y + height <= 900;
    };
    const lines = async () => (await answers().last().innerText()).split('Line after line').length - 1;
    await expect.poll(lines).toBe(30);
    await expect.poll(seen).toBeGreaterThan(100);
    expect(await isInView('Stop')).toBe(true);
    const before = await seen();
    gates[0]?.open();
    await gates[1]?.waitFor(1);
    await expect.poll(seen).toBeGreaterThan(before);
    // Waits for all that the provider has sent, because text that arrives during the scroll would
    // move the end.
    await expect.poll(lines).toBe(70);
    await page.mouse.move(400, 300);
    const down = await seen();
    await page.mouse.wheel(0, -300);
    const up = down - 300;
    await expect.poll(seen).toBe(up);
    gates[1]?.open();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    expect(Math.abs((await seen()) - up)).toBeLessThan(5);
    expect(await isInView('Send')).toBe(true);
  });

  test('two models respond side by side, each with its own options, and a tool is called', async () => {
    await page.getByRole('button', { name: 'New conversation' }).click();
    expect(await page.getByLabel('Reasoning effort').count()).toBe(0);
    await page.getByLabel('Compare with').selectOption('large');
    await page.getByLabel('Reasoning effort').selectOption('high');
    await page.getByLabel('Tools').fill('{');
    await page.getByText('Enter a JSON list of tools.').waitFor();
    await page.getByLabel('Tools').fill('[{"type":"function","function":{"name":"look"}}]');
    stack.provider.script('large', streamAnswer({ toolCalls: CALLS }), plainAnswer);
    stack.provider.script('small', streamAnswer({ pieces: ['It is blue.'] }));
    await say('How is the sky?');
    await answers().filter({ hasText: 'small' }).getByText('It is blue.').waitFor();
    await answers().filter({ hasText: 'large' }).getByText('{"at":"sky"}').waitFor();
    await expect.poll(() => answers().getByRole('link', { name: 'Show in the log' }).count()).toBe(2);
    const [small, large] = ['small', 'large'].map((model) => stack.provider.requests(model).at(-1)?.json);
    expect(small).not.toHaveProperty('reasoning_effort');
    expect(small).not.toHaveProperty('tools');
    expect(large).toMatchObject({ reasoning_effort: 'high', tools: [{ type: 'function' }] });
    await page.getByLabel('Result of look').fill('Blue');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await expect
      .poll(() => stack.provider.requests('large').at(-1)?.json?.messages)
      .toMatchObject([{}, {}, { role: 'assistant' }, { role: 'tool', tool_call_id: 'call_1', content: 'Blue' }]);
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await page.getByLabel('Tools').fill('');
    await page.getByLabel('Compare with').selectOption('');
  });

  test('an image is sent to a model with vision', async () => {
    await page.getByRole('button', { name: 'New conversation' }).click();
    expect(await page.getByRole('button', { name: 'Add image' }).count()).toBe(0);
    await page.getByLabel('Model', { exact: true }).selectOption('large');
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Add image' }).click();
    await (await chooser).setFiles({ name: 'dot.png', mimeType: 'image/png', buffer: PIXEL });
    await page.getByRole('img', { name: 'Attached 1' }).waitFor();
    await say('What is it?');
    await answers().last().getByText('Hello from the provider.').waitFor();
    expect(stack.provider.requests('large').at(-1)?.json?.messages).toMatchObject([
      {},
      { content: [{ type: 'text' }, { image_url: { url: expect.stringMatching(/^data:image\/jpeg;base64,/) } }] },
    ]);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByLabel('Model', { exact: true }).selectOption('small');
  });

  test('a model that a key does not permit is refused as with that key', async () => {
    const keys = page.getByLabel('Act as key');
    await keys.selectOption({ label: (await keys.locator('option', { hasText: 'Only large' }).textContent()) ?? '' });
    await say('Hello');
    await answers().last().getByText('403 model_not_allowed').first().waitFor();
    await answers().last().getByText('What to do').waitFor();
    await page.getByLabel('Model', { exact: true }).selectOption('large');
    await say('Hello');
    await answers().last().getByText('Hello from the provider.').waitFor();
    await page.getByLabel('Act as key').selectOption('');
  });

  test('a low balance is reported with advice', async () => {
    await stack.operator.credit(organizationId, '-9.85');
    await page.getByLabel('Model', { exact: true }).selectOption('small');
    await say('Hello');
    await answers().last().getByText('402 insufficient_credits').first().waitFor();
    await answers().last().getByText('No. It fails again until', { exact: false }).waitFor();
    await answers()
      .last()
      .getByText(/would be admitted now/)
      .waitFor();
    await answers().last().getByText('Not charged').waitFor();
  });

  test('when the session has ended the password is requested over the page, and the conversation is kept', async () => {
    await stack.operator.credit(organizationId, '5');
    const end = () => sql(stack.databaseUrl, "update sessions set last_seen_at = now() - interval '1 year'");
    await actAfterEnd(page, end, () => say('Still here?'));
    const prompt = page.getByRole('dialog', { name: 'Sign in again' });
    await prompt.getByLabel('Password', { exact: true }).fill(password);
    await prompt.getByRole('button', { name: 'Sign in' }).click();
    await prompt.waitFor({ state: 'detached' });
    await answers().last().getByRole('button', { name: 'Send again' }).click();
    await answers().last().getByText('10 in, 5 out').waitFor();
    expect(await page.getByRole('article').getByText('Still here?').count()).toBe(1);
  });

  test('has no flaws on phone and desktop', async () => {
    await expectGoodLooks(page, 'playground');
  });

  test('the playground key is in no list, and leaving the page ends its request', async () => {
    stack.provider.script('slow', streamThen(3, stall));
    await page.getByLabel('Model', { exact: true }).selectOption('slow');
    await say('Leave');
    await answers().last().getByText('Hello', { exact: false }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('table').getByText('Only large').waitFor();
    expect(await page.getByRole('table').getByText('Playground').count()).toBe(0);
    await expect.poll(() => stack.provider.requests('slow').at(-1)?.hungUp, { timeout: 20_000 }).toBe(true);
    await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click();
    await page.getByText('Stopped').last().waitFor();
    expect(await page.getByText('Leave', { exact: true }).count()).toBe(1);
    const living = 'select from keys where playground and revoked_at is null and expires_at > now()';
    expect(await sql(stack.databaseUrl, living)).toHaveLength(1);
    expect(member.complaints()).toEqual([]);
  });
});

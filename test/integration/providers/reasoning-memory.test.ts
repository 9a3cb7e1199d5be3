import { describe, expect, test } from 'vitest';
import { isRefusal } from '#core/errors/refusal.ts';
import { readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { readChatRequest } from '../../fixtures/chat-request.ts';
import { sql } from '../../harness/database.ts';
import { type GatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, stall, streamAnswer, streamThen } from '../../provider/acts.ts';

/** Bodies for a provider with `reasoning_memory`, if the client drops `reasoning_content`. */
const gateway = withGateway(({ baseUrl }) => ({
  config: {
    providers: {
      remembering: { base_url: baseUrl, reasoning_memory: 'reasoning_content' },
      second: { base_url: baseUrl, reasoning_memory: 'reasoning_content' },
      plain: { base_url: baseUrl },
    },
    models: {
      thinks: {
        capabilities: ['tools', 'vision'],
        context_window: 200_000,
        targets: [
          { provider: 'remembering', model: 'first' },
          { provider: 'second', model: 'second' },
          { provider: 'plain', model: 'plain' },
        ],
      },
    },
    retries: { per_target: 0 },
  },
}));

const CALLS = [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }];
const TOOL_CALLS = [{ id: 'call_1', name: 'look', arguments: '{"at":1}' }];
const REASONING = 'I look at "it"\n and 世界.';
const CONVERSATION = [
  { role: 'user', content: 'Look' },
  { role: 'assistant', content: null, tool_calls: CALLS },
  { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
  { role: 'assistant', content: 'I have seen it.' },
  { role: 'user', content: 'Look again' },
];

const BODY = { model: 'thinks', tools: [{ type: 'function', function: { name: 'look' } }] };

async function chat(client: GatewayClient, members: object = {}) {
  expect(outcome(await client.chat({ ...BODY, ...members }))).toBe('200');
}

/** The `reasoning_content` of each message in the last request to a target. */
function sentTo(target: string): readonly unknown[] {
  const { json } = gateway.provider.requests(target).at(-1) ?? {};
  const messages = json?.messages as readonly object[];
  expect(messages.map((message) => ({ ...message, reasoning_content: undefined }))).toEqual(CONVERSATION);
  return messages.map((message) => 'reasoning_content' in message && message.reasoning_content);
}

/** The estimate of the last body that a target was sent. */
function sentEstimate(target: string): number {
  const { body = Buffer.alloc(0) } = gateway.provider.requests(target).at(-1) ?? {};
  const sent = readChatRequest(body, undefined);
  if (isRefusal(sent)) throw new Error(sent.code);
  return sent.inputTokens.estimate;
}

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const LOOK_AT_IT = [
  { type: 'text', text: 'Look' },
  { type: 'image_url', image_url: { url: PIXEL } },
];

describe('a provider with reasoning_memory', () => {
  test.each([false, true])(
    'gets the kept reasoning of tool calls, only for the same customer, stream: %s',
    async (stream) => {
      const said = { reasoning: REASONING, toolCalls: TOOL_CALLS };
      gateway.provider.script('first', stream ? streamAnswer(said) : jsonAnswer(said), jsonAnswer());
      const client = await gateway.openClient();
      const first = await client.chat({ ...BODY, stream, messages: CONVERSATION.slice(0, 1) });
      expect(first.text).toContain('reasoning_content');
      await chat(client, { messages: CONVERSATION });
      expect(sentTo('first')).toEqual([false, REASONING, false, false, false]);
      await chat(await gateway.openClient(), { messages: CONVERSATION });
      expect(sentTo('first')).toEqual([false, ' ', false, false, false]);
      const own = CONVERSATION.with(1, { ...CONVERSATION[1], reasoning_content: 'Mine.' } as never);
      await chat(client, { messages: own });
      expect(sentTo('first')).toEqual([false, 'Mine.', false, false, false]);
    },
  );

  test('fails over without reasoning: another provider gets a space, one without the setting the unchanged body', async () => {
    gateway.provider.script(
      'first',
      jsonAnswer({ reasoning: REASONING, toolCalls: TOOL_CALLS }),
      errorAnswer(500, 'x'),
    );
    gateway.provider.script('second', errorAnswer(500, 'x'));
    const client = await gateway.openClient();
    await chat(client, { messages: CONVERSATION.slice(0, 1) });
    await chat(client, { messages: CONVERSATION });
    expect(sentTo('first')[1]).toBe(REASONING);
    expect(sentTo('second')[1]).toBe(' ');
    expect(sentTo('plain')[1]).toBe(false);
    const { body } = gateway.provider.requests('plain').at(-1) ?? {};
    expect(body?.toString()).toContain(`"messages":${JSON.stringify(CONVERSATION)}`);
  });

  test('is charged with the added reasoning: a prompt without a reported usage is counted with it', async () => {
    const long = { reasoning: REASONING.repeat(500), toolCalls: TOOL_CALLS };
    gateway.provider.script('first', jsonAnswer(long), jsonAnswer({ usage: null }));
    const client = await gateway.openClient();
    await chat(client, { messages: CONVERSATION.slice(0, 1) });
    const promptOf = async (from: GatewayClient) => {
      const { text } = await from.chat({ ...BODY, messages: CONVERSATION });
      return (JSON.parse(text) as { usage: { prompt_tokens: number } }).usage.prompt_tokens;
    };
    const without = await promptOf(await gateway.openClient());
    expect(await promptOf(client)).toBeGreaterThan(without + 2_000);
  });

  test.each(['user', 'call'])(
    'gets no reasoning of another conversation with the same API key and calls: %s',
    async (same) => {
      const say = (name: string) => ({ role: 'user', content: same === 'user' ? 'Look' : `I am ${name}.` });
      const said = { reasoning: REASONING.repeat(4_000), toolCalls: TOOL_CALLS };
      gateway.provider.script('first', jsonAnswer(said), jsonAnswer({ toolCalls: TOOL_CALLS }), jsonAnswer());
      const client = await gateway.openClient();
      for (const user of ['alice', 'bob']) await chat(client, { user, messages: [say(user)] });
      await chat(client, { user: 'bob', messages: CONVERSATION.with(0, say('bob')) });
      const { body } = gateway.provider.requests('first').at(-1) ?? {};
      expect(JSON.parse(String(body)).messages[1]).toMatchObject({ reasoning_content: ' ' });
    },
  );

  test('is not charged with reasoning that another target was not sent: a prompt with an image has no usage', async () => {
    const long = { reasoning: REASONING.repeat(2_000), toolCalls: TOOL_CALLS };
    gateway.provider.script('first', jsonAnswer(long), errorAnswer(500, 'x'));
    gateway.provider.script('second', errorAnswer(500, 'x'));
    gateway.provider.script('plain', jsonAnswer({ usage: null }));
    const client = await gateway.openClient();
    const messages = CONVERSATION.with(0, { role: 'user', content: LOOK_AT_IT } as never);
    await chat(client, { messages: messages.slice(0, 1) });
    const { text } = await client.chat({ ...BODY, messages });
    const { usage } = JSON.parse(text) as { usage: { prompt_tokens: number } };
    expect(sentEstimate('first')).toBeGreaterThan(10_000);
    expect(usage.prompt_tokens).toBeLessThanOrEqual(sentEstimate('plain'));
  });

  test('is not charged with reasoning that another target was not sent: a crash ends its stream', async () => {
    const long = { reasoning: REASONING.repeat(2_000), toolCalls: TOOL_CALLS };
    gateway.provider.script('first', jsonAnswer(long), errorAnswer(500, 'x'));
    gateway.provider.script('second', errorAnswer(500, 'x'));
    gateway.provider.script('plain', streamThen(5, stall));
    const client = await gateway.openClient();
    await chat(client, { messages: CONVERSATION.slice(0, 1) });
    let [id, pieces] = ['', 0];
    const cut = client
      .chat(
        { ...BODY, stream: true, messages: CONVERSATION },
        { onHead: (_, head) => (id = String(head['x-generation-id'])), onPiece: () => pieces++ },
      )
      .catch(() => undefined);
    await expect.poll(() => pieces).toBeGreaterThan(0);
    const { chargeLogDir } = gateway.stack.paths;
    const delivered = async () =>
      (await readWorkerLog(chargeLogDir, 0)).unsettled.filter((request) => request.delivered);
    await expect.poll(delivered).toHaveLength(1);
    await gateway.stack.restartGateway('SIGKILL');
    await cut;
    const prompt = `select prompt_tokens from generations where id = '${id}'`;
    const charged = () => sql<{ prompt_tokens: string }>(gateway.stack.databaseUrl, prompt);
    await expect.poll(charged).toHaveLength(1);
    expect(sentEstimate('first')).toBeGreaterThan(10_000);
    expect(Number((await charged())[0]?.prompt_tokens)).toBeLessThanOrEqual(sentEstimate('plain'));
  });
});

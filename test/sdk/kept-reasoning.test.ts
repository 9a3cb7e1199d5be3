import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { functionCall, message, reasoning, responseWith } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { scripted } from '#ext-proc/dialects/responses/scripted-stream.fixture.ts';
import { withGateway } from '../harness/with-gateway.ts';
import type { Act } from '../provider/call.ts';

const gateway = withGateway(({ baseUrl }) => ({
  config: {
    providers: { fake: { base_url: baseUrl, api: 'responses' } },
    models: {
      reasons: {
        capabilities: ['tools'],
        reasoning_efforts: ['low'],
        targets: [{ provider: 'fake', model: 'reasons' }],
      },
    },
  },
}));

const CALLS = ['a', 'b'].map((id) => functionCall(`call_${id}`, 'look', '{"at":1}'));
const [FIRST, SECOND] = ['Zmlyc3Q=', 'c2Vjb25k'].map((encrypted) => reasoning(['A thought.'], encrypted));
const THOUGHTFUL = [FIRST, message('I look.', 'commentary'), CALLS[0], SECOND, CALLS[1]].filter(
  (item) => item !== undefined,
);

const says =
  (output: Parameters<typeof responseWith>[0]): Act =>
  (call) => {
    const whole = responseWith(output);
    const events = scripted(whole).map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    call.writeHead(200, { 'content-type': call.seen.stream ? 'text/event-stream' : 'application/json' });
    call.end(call.seen.stream ? events.join('') : JSON.stringify(whole));
  };

const PARAMETERS = { type: 'object', properties: { at: { type: 'integer' } } };
const asked = { model: 'reasons', messages: [{ role: 'user' as const, content: 'Look' }] };

/** The library's streams keep the last of several `reasoning_details`. */
async function streamedTwice(client: OpenAI) {
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: PARAMETERS } }];
  const completion = await client.chat.completions.stream({ ...asked, tools }).finalChatCompletion();
  const said = completion.choices[0]?.message as OpenAI.ChatCompletionAssistantMessageParam;
  const results = CALLS.map(({ call_id: tool_call_id }) => ({ role: 'tool' as const, tool_call_id, content: 'seen' }));
  await client.chat.completions.create({ ...asked, tools, messages: [...asked.messages, said, ...results] });
}

/** The library's runner keeps neither the details nor the phase. */
async function run(client: OpenAI) {
  const look = { name: 'look', description: '', parameters: PARAMETERS, parse: JSON.parse, function: () => 'seen' };
  const runner = client.chat.completions.runTools({
    ...asked,
    stream: true,
    tools: [{ type: 'function', function: look }],
  });
  await runner.done();
}

test.each([streamedTwice, run])('a model gets its reasoning back in its places: %o', async (ask) => {
  gateway.provider.script('reasons', says(THOUGHTFUL), says([message('Done.', 'final_answer')]));
  const { key } = await gateway.stack.operator.customer();
  await ask(new OpenAI({ baseURL: `${gateway.stack.origin}/v1`, apiKey: key, maxRetries: 0 }));
  const { json } = gateway.provider.requests('reasons').at(-1) ?? {};
  const sent = json?.input as readonly {
    readonly type: string;
    readonly phase?: string;
    readonly encrypted_content?: string;
  }[];
  expect(sent.map(({ type, phase, encrypted_content: data }) => [type, phase ?? data]).slice(0, 6)).toEqual([
    ['message', undefined],
    ['reasoning', 'Zmlyc3Q='],
    ['message', 'commentary'],
    ['function_call', undefined],
    ['reasoning', 'c2Vjb25k'],
    ['function_call', undefined],
  ]);
});

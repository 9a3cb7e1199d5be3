import { describe, expect, test } from 'vitest';
import { SharedBudget } from '../fairness/shared-budget.ts';
import { ANSWERS, gathered, isOneAfterAnother, readStream, responsesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { chunk, DONE, STOP, sendJson, sendJsonText, sendStream, usageChunk } from './egress.fixture.ts';

const { egress, delivery, another } = await openDelivery();

describe('a client of Responses', () => {
  test.each(ANSWERS.filter(({ api, name }) => api === 'responses' || !MERGED.has(name)))(
    'gets the same from a stream as from JSON, of a target with api: $api: $name',
    async ({ api, json, stream }) => {
      const include = ['reasoning.encrypted_content'];
      egress.respondWith(sendJsonText(json));
      const whole = client();
      const asked = await deliverTo(delivery, whole, await responsesRequest(api, { include }));
      const response = JSON.parse(whole.text() === '' ? String(whole.responses[0]?.body) : whole.text());
      expect(response).toMatchObject({ id: 'gen-TEST', model: 'public-model', object: 'response', store: false });

      egress.respondWith(sendStream([stream]));
      const to = client();
      const streamed = await deliverTo(delivery, to, await responsesRequest(api, { include }, { stream: true }));
      const events = await readStream(to.text());
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, number) => number));
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
      if (api !== 'responses') expect(isOneAfterAnother(events), to.text()).toBe(true);
      const final = await gathered(to.text());
      const { output, usage, status } = final;
      expect({ output: meaning(output), usage, status }).toEqual({
        output: meaning(response.output),
        ...{ usage: response.usage, status: response.status },
      });
      expect(usage).toMatchObject({ cost: 0.25 });
      expect(asked.charges).toMatchObject([{ usageCounted: false }]);
      expect(streamed.charges).toMatchObject([{ usageCounted: false, usage: asked.charges[0]?.usage }]);
    },
  );
});

describe('a client of Responses, beside its output', () => {
  test.each(['chat', 'responses', 'anthropic'] as const)('sends a large body to a target with api: %s', async (api) => {
    const text = 'some words '.repeat(200_000);
    const instructions = `${text}and these.`;
    egress.respondWith(sendJson({}));
    await deliverTo(delivery, client(new SharedBudget(16e6).open()), await responsesRequest(api, { instructions }));
    const sent = JSON.stringify(JSON.parse(egress.asked[0]?.body ?? ''));
    expect(sent).toContain(JSON.stringify(instructions));
    expect(sent.includes('"input"')).toBe(api === 'responses');
  });

  test('has its own body passed on to a target with its API, except for members that the gateway sets', async () => {
    egress.respondWith(sendJson({}));
    const body = {
      ...{ store: true, metadata: { a: 'b' }, client_metadata: { c: 'd' }, user: 'u-1', background: false },
      ...{ max_output_tokens: 50, truncation: 'auto', service_tier: 'auto' },
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    };
    await deliverTo(delivery, client(), await responsesRequest('responses', body));
    expect(JSON.parse(egress.asked[0]?.body ?? '')).toEqual({
      ...{ model: 'alpha-model', store: false, max_output_tokens: 100, truncation: 'auto', service_tier: 'default' },
      ...{ input: body.input, user: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });

  test('may have a tool that is named like a member of every object', async () => {
    const called = { id: 'call_1', type: 'function', function: { name: 'constructor', arguments: '{}' } };
    egress.respondWith(sendStream([chunk({ tool_calls: [{ index: 0, ...called }] }), STOP, usageChunk(), DONE]));
    const to = client();
    const tools = [{ type: 'namespace', name: '__proto', tools: [{ type: 'function', name: 'f' }] }];
    await deliverTo(delivery, to, await responsesRequest('chat', { tools }, { stream: true }));
    expect((await gathered(to.text())).output).toMatchObject([{ type: 'function_call', name: 'constructor' }]);
  });

  test.each([false, true])(
    'gets an empty object as arguments if the provider wrote none, stream: %s',
    async (stream) => {
      const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } };
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
      egress.respondWith(
        stream
          ? sendStream([chunk({ tool_calls: [{ index: 0, ...call }] }), STOP, usageChunk(), DONE])
          : sendJson({ choices, usage: { prompt_tokens: 7, completion_tokens: 5 } }),
      );
      const to = client();
      const tools = [{ type: 'function', name: 'f' }];
      await deliverTo(delivery, to, await responsesRequest('chat', { tools }, { stream }));
      const { output } = stream ? await gathered(to.text()) : JSON.parse(String(to.responses[0]?.body));
      expect(output).toMatchObject([{ type: 'function_call', name: 'f', arguments: '{}', status: 'completed' }]);
      // What clients gather of the events is what the last one has.
      if (stream) expect(to.text()).toMatch(/function_call_arguments\.delta.*"delta":"\{\}"/);
    },
  );

  test('gets one item after the other, however a provider mixes them, and what waits is bounded', async () => {
    const said = (index: number, input: string, name?: string) =>
      chunk({
        tool_calls: [
          {
            index,
            ...(name ? { id: `call_${index}` } : {}),
            function: { ...(name ? { name } : {}), arguments: input },
          },
        ],
      });
    const mixed = [
      chunk({ role: 'assistant', content: 'Checking.' }),
      ...[said(0, '', 'weather'), said(0, '{"city":'), said(1, '', 'time'), chunk({ content: ' And' })],
      ...[said(0, '"Paris"}'), said(2, '{}', 'other'), chunk({ content: ' so.' })],
    ];
    egress.respondWith(sendStream([...mixed, STOP, usageChunk(), DONE]));
    const to = client();
    await deliverTo(delivery, to, await responsesRequest('chat', {}, { stream: true }));
    const events = await readStream(to.text());
    expect(isOneAfterAnother(events), to.text()).toBe(true);
    expect((await gathered(to.text())).output).toMatchObject([
      { type: 'message', status: 'completed', content: [{ text: 'Checking.' }] },
      { name: 'weather', arguments: '{"city":"Paris"}' },
      { name: 'time', arguments: '{}' },
      { type: 'message', content: [{ text: ' And so.' }] },
      { name: 'other', arguments: '{}' },
    ]);

    const small = another({ responseBudgetBytes: 300_000 });
    const waiting = Array.from({ length: 40 }, () => said(1, 'some words '.repeat(1_000)));
    egress.respondWith(
      sendStream([said(0, '{', 'weather'), said(1, '', 'time'), ...waiting, STOP, usageChunk(), DONE]),
    );
    const { outcome } = await deliverTo(small, client(), await responsesRequest('chat', {}, { stream: true }));
    expect(outcome.refusal?.code).toBe('upstream_error');
    expect(small.responseBudget.heldBytes).toBe(0);
  });

  test('gets an end of a stream that finds no memory, which is charged by the provider’s usage', async () => {
    const small = another({ responseBudgetBytes: 300_000 });
    const pieces = Array.from({ length: 40 }, (_, at) => chunk({ content: `${'some words '.repeat(1_000)}${at}` }));
    egress.respondWith(sendStream([...pieces, STOP, usageChunk(), DONE]));
    const to = client();
    const { outcome, charges } = await deliverTo(small, to, await responsesRequest('chat', {}, { stream: true }));
    expect(outcome.refusal?.code).toBe('upstream_error');
    expect(charges).toMatchObject([{ usageCounted: false, usage: { promptTokens: 7, completionTokens: 5 } }]);
    expect(to.text()).toContain('event: response.failed');
    expect(small.responseBudget.heldBytes).toBe(0);
  });

  test('reads content that a provider writes as parts', async () => {
    const content = [
      { type: 'thinking', thinking: [] },
      { type: 'text', text: 'Hello' },
    ];
    egress.respondWith(sendStream([chunk({ content }), STOP, usageChunk(), DONE]));
    const to = client();
    await deliverTo(delivery, to, await responsesRequest('chat', {}, { stream: true }));
    expect((await gathered(to.text())).output_text).toBe('Hello');
  });
});

/** Chat's JSON has one message of two, and no room for what stood between. */
const MERGED: ReadonlySet<string> = new Set(['TWO_MESSAGES of responses', 'TWO_TEXTS of anthropic', 'TWO_TEXTS']);

/** Items without their ids, which differ from response to response. */
function meaning(output: readonly object[]): unknown {
  return JSON.parse(JSON.stringify(output), (name, value) =>
    name === 'id' || name === 'bytes' || name === 'parsed' || name === 'parsed_arguments' ? undefined : value,
  );
}

import { setImmediate } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { TEXT } from '../dialects/anthropic/scenarios.fixture.ts';
import { scripted } from '../dialects/anthropic/scripted-stream.fixture.ts';
import { ANSWERS, messagesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { sendJson, sendJsonText, sendStream } from './egress.fixture.ts';
import { eventOf } from './other-apis.fixture.ts';

const { egress, delivery } = await openDelivery();

/** The message that the official library gathers from a stream. */
async function gathered(text: string): Promise<Anthropic.Message> {
  const fetch = async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const stream = new Anthropic({ apiKey: 'k', fetch }).messages.stream({
    ...{ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] },
  });
  return stream.finalMessage();
}

const THINKING = { thinking: { type: 'adaptive' } };

describe('a client of Messages', () => {
  test.each(ANSWERS.filter(({ api, name }) => api === 'anthropic' || !MERGED.has(name)))(
    'gets the same from a stream as from JSON, of a target with api: $api: $name',
    async ({ api, json, stream }) => {
      egress.respondWith(sendJsonText(json));
      const whole = client();
      const asked = await deliverTo(delivery, whole, await messagesRequest(api, THINKING));
      const message = JSON.parse(whole.text() === '' ? String(whole.responses[0]?.body) : whole.text());
      expect(message).toMatchObject({ id: 'gen-TEST', model: 'public-model', type: 'message', role: 'assistant' });
      expect(message.usage).toMatchObject({ cost: 0.25 });

      egress.respondWith(sendStream([stream]));
      const to = client();
      const streamed = await deliverTo(delivery, to, await messagesRequest(api, THINKING, { stream: true }));
      const final = await gathered(to.text());
      expect(meaning(final)).toEqual(meaning(message));
      expect(usageIn(to.text())).toEqual(message.usage);
      expect(isSequential(to.text())).toBe(true);
      expect(asked.charges).toMatchObject([{ usageCounted: false }]);
      expect(streamed.charges).toMatchObject([{ usageCounted: false, usage: asked.charges[0]?.usage }]);
    },
  );
});

/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
const RESULT = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [IMAGE] }] };

test.each(['chat', 'responses', 'anthropic'] as const)(
  'an image in a tool result reaches a target with api: %s where that API allows it',
  async (api) => {
    egress.respondWith(sendJson({}));
    const messages = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }] },
      RESULT,
    ];
    const tools = [{ name: 'read', input_schema: { type: 'object' } }];
    await deliverTo(delivery, client(), await messagesRequest(api, { messages, tools }));
    const sent = JSON.parse(egress.asked[0]?.body ?? '');
    const url = `data:image/png;base64,${PIXEL}`;
    expect((sent.input ?? sent.messages).slice(2)).toEqual(
      {
        chat: [
          { role: 'tool', tool_call_id: 'toolu_1', content: '(see below)' },
          { role: 'user', content: [{ type: 'image_url', image_url: { url } }] },
        ],
        responses: [
          expect.objectContaining({
            type: 'function_call_output',
            output: [expect.objectContaining({ image_url: url })],
          }),
        ],
        anthropic: messages.slice(2),
      }[api],
    );
  },
);

test('a target with api: chat keeps its roles and settings when an image is moved', async () => {
  egress.respondWith(sendJson({}));
  const shaping = {
    ...{ drop: new Set<string>(), rename: new Map<string, string>(), setWithTools: new Map<string, string>() },
    ...{ set: new Map([['x', '1.0']]), roles: new Map([['user', 'human']]) },
  };
  const { model, ...others } = await messagesRequest('chat', { messages: [RESULT] });
  const targets = model.targets.map((target) => ({ ...target, shaping: [shaping] }));
  await deliverTo(delivery, client(), { ...others, model: { ...model, targets } });
  const sent = egress.asked[0]?.body ?? '';
  expect(sent).toContain('"x":1.0');
  expect(JSON.parse(sent).messages.map(({ role }: { role: string }) => role)).toEqual(['tool', 'human']);
});

/** Tools whose input is a text cannot be offered here. */
const CUSTOM = ['CALL_AFTER_TEXT', 'CALL_AFTER_TEXT of responses'];
/** Chat's JSON has one message of two, and no room for what stood between. */
const MERGED: ReadonlySet<string> = new Set([
  'TWO_MESSAGES of responses',
  'TWO_MESSAGES',
  'TWO_TEXTS of anthropic',
  ...CUSTOM,
]);

/** Each block begins after the one before has ended, and the message stands around all. */
function isSequential(text: string): boolean {
  const types = text
    .split('\n\n')
    .flatMap((event) => /^event: (\w+)/.exec(event)?.[1] ?? [])
    .filter((type) => type !== 'ping');
  const form =
    /^message_start( content_block_start( content_block_delta)* content_block_stop)* message_delta message_stop$/;
  return form.test(types.join(' '));
}

/** What the library keeps of both. */
function meaning({ content, stop_reason, stop_sequence, usage }: Anthropic.Message): JsonObject {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage;
  const counts = { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens };
  return JSON.parse(JSON.stringify({ content, stop_reason, stop_sequence, counts }));
}

/** The usage that was charged, which stands in the last event but one. */
function usageIn(text: string): unknown {
  const last = text.split('\n\n').findLast((event) => event.startsWith('event: message_delta')) ?? '';
  return JSON.parse(last.slice(last.indexOf('{'))).usage;
}

describe('a client of Messages that leaves a model without efforts', () => {
  async function chargedOutput(thinking: JsonObject) {
    const events = scripted(TEXT).map(eventOf);
    const seen = events.findIndex((event) => event.includes('text_delta')) + 1;
    const to = client();
    egress.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events.slice(0, seen).join(''));
      await expect.poll(() => to.text()).toContain('text_delta');
      to.leave();
      await setImmediate();
      response.end(events.slice(seen).join(''));
    });
    const request = await messagesRequest('anthropic', { thinking }, { stream: true });
    const { charges } = await deliverTo(delivery, to, request);
    return charges[0]?.usage.completionTokens;
  }

  test('pays for all thinking if it requested thinking, as for a model with efforts', async () => {
    expect(await chargedOutput({ type: 'enabled', budget_tokens: 2000 })).toBe(52);
    expect(await chargedOutput({ type: 'adaptive', display: 'omitted' })).toBe(52);
    expect(await chargedOutput({ type: 'disabled' })).toBeLessThan(10);
  });
});

import { expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { NO_USAGE } from '#core/pricing.ts';
import { editObject } from '../dialects/json-members.ts';
import type { Door } from './door.ts';
import { MESSAGES_DOOR } from './messages/messages-door.ts';
import { RESPONSES_DOOR } from './responses/responses-door.ts';

const NAMES = { generationId: 'gen-1', requestId: 'request', model: 'public', createdAtSeconds: 1, asked: {} };
/** What an operator's account would show, and the same as the model's own words. */
const SECRET = { cost: 1, provider: 'SECRET', provider_metadata: { organization: 'SECRET' }, total_cost_usd: 'SECRET' };
/** With a line separator, which JSON may have as it is. */
const SAID = '{"cost":"said"}\u2028';

const MESSAGE = { type: 'message', ...SECRET, content: [{ type: 'output_text', text: SAID, ...SECRET }] };
const CALL = { type: 'function_call', name: 'f', arguments: SAID, ...SECRET };
const USE = { type: 'tool_use', id: 't', name: 'f', input: { cost: 'said' }, ...SECRET };

const CHARGED = { usage: NO_USAGE, usageCounted: false, costUsd: 0.25 };

function eventText(event: JsonObject): string {
  return `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
}

test.each<[string, Door, JsonObject]>([
  ['Responses', RESPONSES_DOOR, { id: 'r', output: [MESSAGE, CALL], ...SECRET }],
  ['Messages', MESSAGES_DOOR, { id: 'm', content: [{ type: 'text', text: SAID, ...SECRET }, USE], ...SECRET }],
])('a passed response of %s shows the model’s output, and nothing about the operator', (_, door, response) => {
  const shown = editObject(JSON.stringify(response), door.passedResponse(response, NAMES));
  expect(shown).not.toMatch(/SECRET|"cost":1/);
  expect(shown.match(/said/g)).toHaveLength(2);
});

test.each<[string, Door, JsonObject[]]>([
  [
    'Responses',
    RESPONSES_DOOR,
    [
      { type: 'response.created', response: { id: 'r', output: [], ...SECRET }, ...SECRET },
      { type: 'response.output_item.added', item: CALL, ...SECRET },
      { type: 'response.content_part.done', part: { type: 'output_text', text: SAID, ...SECRET } },
      { type: 'response.output_text.delta', delta: SAID, model: 'SECRET', ...SECRET },
      { type: 'response.openrouter_cost', cost: 1, organization: 'SECRET' },
      { type: 'response.completed', response: { id: 'r', output: [], ...SECRET }, ...SECRET },
    ],
  ],
  [
    'Messages',
    MESSAGES_DOOR,
    [
      { type: 'message_start', message: { id: 'm', content: [], ...SECRET }, ...SECRET },
      { type: 'content_block_start', content_block: USE, ...SECRET },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: SAID, ...SECRET }, model: 'SECRET' },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: SAID } },
      { type: 'openrouter_cost', cost: 1, organization: 'SECRET' },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', ...SECRET }, ...SECRET },
    ],
  ],
])('passed events of %s do the same, one by one and together', (_, door, events) => {
  const [one, other] = [door.passedStream(NAMES), door.passedStream(NAMES)];
  const each = events.map((event) => one.event(String(event.type), JSON.stringify(event))).join('');
  const together = other.several(events.map(eventText).join(''));
  for (const shown of [each + one.ended(CHARGED), together + other.ended(CHARGED)]) {
    expect(shown).not.toMatch(/SECRET|"cost":1/);
    expect(shown.match(/said/g)).toHaveLength(3);
  }
});

test.each<[string, Door, JsonObject]>([
  ['Responses', RESPONSES_DOOR, { type: 'response.output_text.delta', delta: '"cost": 1', sequence_number: 5 }],
  ['Messages', MESSAGES_DOOR, { type: 'content_block_delta', delta: { type: 'text_delta', text: '"cost": 1' } }],
])('events of %s are passed on unchanged if they continue one with nothing to hide', (_, door, delta) => {
  const type = String(delta.type);
  const stream = door.passedStream(NAMES);
  stream.event(type, JSON.stringify(delta));
  expect(stream.several(eventText(delta).repeat(2))).toBe(eventText(delta).repeat(2));
  stream.event(type, JSON.stringify({ ...delta, ...SECRET }));
  const secret = eventText({ ...delta, ...SECRET });
  expect(stream.several(secret + secret)).toBe(eventText(delta).repeat(2));
  stream.event('', JSON.stringify(delta));
  expect(stream.several(`data: ${JSON.stringify(delta)}\n\n`)).toBe(eventText(delta));
});

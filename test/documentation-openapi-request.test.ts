import { describe, expect, it } from 'vitest';
import { isRefusal } from '#core/errors/refusal.ts';
import { CHAT_FIELDS } from '#ext-proc/chat/chat-fields.ts';
import { compileSchema } from './fixtures/api-document.ts';
import { readChatRequest } from './fixtures/chat-request.ts';

/**
 * The request schema of docs/openapi.yaml accepts the same bodies as the validation, except for
 * rules that a schema cannot express.
 */
const validate = compileSchema('/components/schemas/ChatCompletionRequest');
const MESSAGES = [{ role: 'user', content: 'Hello' }];

/**
 * The bodies on which schema and validation disagree. Reports also if all bodies are accepted or
 * all refused.
 */
function disagreements(bodies: readonly unknown[]): unknown[] {
  const accepted = new Set<boolean>();
  const differing = bodies.flatMap((body) => {
    const read = readChatRequest(Buffer.from(JSON.stringify(body)), undefined);
    accepted.add(!isRefusal(read));
    const documented = validate(body);
    if (documented === !isRefusal(read)) return [];
    return [{ documented, read: isRefusal(read) ? `${read.code} ${read.param} ${read.values.problem}` : 'ok', body }];
  });
  return accepted.size === 2 ? differing : [...differing, 'the bodies are all refused, or all accepted'];
}

const text = (characters: number) => '😀'.repeat(characters);
const PLAIN = [null, true, false, '', 'x', {}, [], { type: 'text' }, { type: 'json_object' }, { a: 1 }, ['x'], [1]];
const NUMBERS = [-100.5, -100, -2.5, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 20, 21, 100, 128, 129, 1e9, 1e300];
const TEXTS = [16, 17, 64, 65, 128, 129, 255, 256, 512, 513, 8192, 8193].map(text);
const LISTS = [4, 5, 16, 17].map((length) => Array.from({ length }, (_, at) => `${at}`));
const MAPS = [16, 17].map((size) => Object.fromEntries(Array.from({ length: size }, (_, at) => [`k${at}`, 'v'])));
const OF_NUMBERS = [{ 1: 100 }, { 1: -100.5 }, { 1: '1' }, { 1: null }, { [text(64)]: 'x' }, { [text(65)]: 'x' }];
const OPTIONS = [
  { include_usage: true },
  { include_usage: null },
  { include_usage: 1 },
  { other: 1 },
  { a: text(513) },
];
const NAMED = [
  { name: 'f' },
  { name: '' },
  { name: 1 },
  { description: 'd' },
  { name: 'f', description: null, parameters: {}, strict: true, other: 1 },
  { name: 'f', description: 1 },
  { name: 'f', parameters: [] },
  { name: 'f', schema: null },
  { name: 'f', schema: 'x' },
  { name: 'f', strict: 'yes' },
];
const FUNCTIONS = NAMED.map((named) => ({ type: 'function', function: named }));
const CUSTOM = NAMED.map((named) => ({ type: 'custom', custom: named }));
const SCHEMAS = NAMED.map((named) => ({ type: 'json_schema', json_schema: named }));
const CHOICES = ['none', 'auto', 'required', { type: 'function' }, { type: 'allowed_tools', allowed_tools: {} }];
const FORMATS = [{ type: 'json_schema' }, { type: 'text', json_schema: {} }, { type: 'xml' }, { type: 1 }];

describe('each field', () => {
  const values: readonly unknown[] = [
    ...[...PLAIN, ...NUMBERS, ...TEXTS, ...LISTS, ...MAPS, ...OF_NUMBERS, ...OPTIONS],
    ...[...FUNCTIONS, ...CUSTOM, ...SCHEMAS, ...CHOICES, ...FORMATS],
    ...['flex', 'default', ['text'], FUNCTIONS, CUSTOM, [FUNCTIONS[0]], [CUSTOM[0]]],
  ];
  it.each([...CHAT_FIELDS.keys()].filter((field) => field !== 'messages'))('%s', (field) => {
    const others = { model: 'm', messages: MESSAGES };
    expect(disagreements(values.map((value) => ({ ...others, [field]: value })))).toEqual([]);
  });
});

it('a count of tokens, which takes the fields of a message', () => {
  const [message, count] = ['MessagesRequest', 'CountTokensRequest'].map((name) =>
    compileSchema(`/components/schemas/${name}`),
  );
  const bodies = [
    {},
    { max_tokens: null },
    { max_tokens: 9 },
    { max_tokens: 9, stream: true, temperature: 1 },
    { max_tokens: 9, other: 1 },
  ];
  const accepted = bodies.map((more) =>
    [message, count].map((body) => body?.({ model: 'm', messages: MESSAGES, ...more })),
  );
  expect(accepted).toEqual([
    [false, true],
    [false, true],
    [true, true],
    [true, true],
    [false, false],
  ]);
});

it('the body as a whole', () => {
  const bodies: readonly unknown[] = [
    ...[{}, [], null, 'x', { model: 'm' }, { messages: MESSAGES }],
    ...[null, '', [], {}, 'x', [null], ['x']].map((messages) => ({ model: 'm', messages })),
    { model: 'm', messages: MESSAGES, other: 1 },
    { model: 'm', messages: MESSAGES, max_tokens: 1, max_completion_tokens: 1 },
    { model: 'm', messages: MESSAGES, max_tokens: 1, max_completion_tokens: null },
  ];
  expect(disagreements(bodies)).toEqual([]);
});

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const CALL = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
const PARTS = [
  ...[null, 'x', {}, { type: 'text' }, { type: 'text', text: 1 }, { type: 'text', text: '' }, { text: 'x' }],
  ...[{ type: 'refusal', refusal: 'no' }, { type: 'refusal' }, { type: 'text', text: 'x', cache_control: {} }],
  ...[null, {}, 'x'].map((media) => ({ type: 'text', text: 'x', image_url: media, file: media })),
  ...[PIXEL, 'data:image/png;base64,', 'data:image/png;base64,AAAAA', 'data:text/plain;base64,AAAA', 'x', null, 1].map(
    (url) => ({ type: 'image_url', image_url: { url, detail: 'low' } }),
  ),
  ...[{ type: 'image_url' }, { type: 'image_url', image_url: {} }, { type: 'image_url', image_url: 'x' }],
  { type: 'image_url', image_url: { url: PIXEL }, input_audio: { data: '' } },
  ...[
    { type: 'image_url', image_url: PIXEL },
    { type: 'image_url', image_url: 'data:' },
  ],
  ...[
    { type: 'input_audio', input_audio: {} },
    { type: 'video_url', video_url: { url: PIXEL } },
  ],
  ...[{}, 'x', { file_data: 'data:application/pdf;base64,JVBERi0=' }, { file_data: 'x' }, { file_id: 'f' }].map(
    (file) => ({ type: 'file', file }),
  ),
];

it('each message', () => {
  const contents = [undefined, null, '', 'x', 1, {}, [], ...PARTS.map((part) => [part])];
  const more: readonly Record<string, unknown>[] = [
    {},
    ...[null, 'x', 1].flatMap((value) => [{ name: value }, { tool_call_id: value }, { refusal: value }]),
    ...[null, 'x', {}].flatMap((value) => [{ reasoning_content: value }, { audio: value }]),
    ...[null, 'x', {}, { name: 'f' }, { name: 'f', arguments: '' }].map((value) => ({ function_call: value })),
    ...[null, 'x', [], [CALL], [{ ...CALL, id: 1 }], [{ ...CALL, type: 'x' }], [{ type: 'function', id: 'c' }]].map(
      (value) => ({ tool_calls: value }),
    ),
    ...[{}, { name: 'f' }, { name: 'f', input: 'x' }, { name: 'f', input: 1 }].map((custom) => ({
      tool_calls: [{ id: 'c', type: 'custom', custom }],
    })),
    { other: { any: 1 } },
  ];
  const bodies = ['system', 'developer', 'user', 'assistant', 'tool', 'function', 'other', undefined, null].flatMap(
    (role) =>
      contents.flatMap((content) => more.map((members) => ({ model: 'm', messages: [{ role, content, ...members }] }))),
  );
  expect(disagreements(bodies).slice(0, 5)).toEqual([]);
});

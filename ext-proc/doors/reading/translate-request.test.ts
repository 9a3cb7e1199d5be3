import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { arbitraryRequest as messagesRequest } from '../messages/arbitrary-request.fixture.ts';
import { arbitraryRequest as responsesRequest } from '../responses/arbitrary-request.fixture.ts';
import { translateRequest } from './translate-request.ts';

function translated(body: JsonObject, api: 'responses' | 'messages' = 'responses') {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', ...body }));
  const result = translateRequest({ bytes, api, model: { reasoningEfforts: [] }, extraFields: [] });
  return result?.kind === 'translated' ? result : undefined;
}

const USER = { role: 'user', content: 'hi' };
const ASSISTANT = { role: 'assistant', content: 'x' };
const CALL = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
const OUTPUT = { type: 'function_call_output', call_id: 'a', output: 'x' };
const TOOL = { type: 'function', name: 'f' };
const thought = (text: string) => [{ type: 'reasoning_text', text }];
const summary = (text: string) => [{ type: 'summary_text', text }];

/** Bodies of Responses with a text at a place that the chat form may lack. */
const PLACES: Record<string, (text: string) => JsonObject> = {
  'reasoning that nothing follows': (text) => ({
    input: [USER, { type: 'reasoning', id: 'r', summary: [], content: thought(text) }],
  }),
  'reasoning before a user': (text) => ({
    input: [{ type: 'reasoning', id: 'r', summary: [], encrypted_content: text }, USER],
  }),
  'a summary alone': (text) => ({ input: [{ type: 'reasoning', id: 'r', summary: summary(text) }, ASSISTANT, USER] }),
  'content beside encrypted content': (text) => ({
    input: [{ type: 'reasoning', id: 'r', summary: [], encrypted_content: 'a', content: thought(text) }, ASSISTANT],
  }),
  'the description of a namespace': (text) => ({
    input: [USER],
    tools: [{ type: 'namespace', name: 'n', description: text, tools: [TOOL] }],
  }),
  'a member of a call': (text) => ({ input: [USER, { ...CALL, x: text }, OUTPUT] }),
  'a name in a call': (text) => ({ input: [USER, { ...CALL, [text]: 1 }, OUTPUT] }),
  'a member of an output': (text) => ({ input: [USER, CALL, { ...OUTPUT, x: text }] }),
  'an id': (text) => ({ input: [{ ...USER, id: text }] }),
  annotations: (text) => ({
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'x', annotations: [text] }] }],
  }),
  'a setting of text': (text) => ({ input: [USER], text: { x: text } }),
  'a format': (text) => ({ input: [USER], text: { format: { type: 'json_schema', name: 'f', schema: {}, x: text } } }),
  'a setting of reasoning': (text) => ({ input: [USER], reasoning: { effort: 'low', x: text } }),
  'additional tools': (text) => ({ input: [{ type: 'additional_tools', tools: [TOOL], x: text }, USER] }),
  'the format of a tool': (text) => ({
    input: [USER],
    tools: [{ type: 'custom', name: 'c', format: { type: 'text', definition: text } }],
  }),
  'a choice of tools': (text) => ({
    input: [USER],
    tools: [TOOL],
    tool_choice: { type: 'function', name: 'f', x: text },
  }),
};

describe('a body that is passed on', () => {
  test.each(Object.entries(PLACES))('has no text that is not counted: %s', (_, bodyWith) => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 3 }), fc.integer({ min: 1, max: 5_000 }), (word, times) => {
        const [short, long] = [translated(bodyWith('w')), translated(bodyWith(`w${word.repeat(times)}`))];
        if (!long?.mayPass || !short) return;
        const grown = Buffer.byteLength(JSON.stringify(word.repeat(times))) - 2;
        const counted = long.bytes.length + long.unreadBytes - short.bytes.length - short.unreadBytes;
        // Less may be counted while the names of the chat form are longer than those of the body.
        expect(counted).toBeGreaterThanOrEqual(grown - 200);
        expect(long.unreadBytes).toBeLessThan(2_000);
      }),
      { numRuns: 50 },
    );
  });

  it('may be an ordinary conversation', () => {
    const ids = { id: `msg_${'a'.repeat(50)}`, status: 'completed' };
    const said = { type: 'output_text', text: 'x', annotations: [], logprobs: [] };
    const body = {
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'reasoning', id: `rs_${'a'.repeat(50)}`, summary: [], encrypted_content: 'gAAAA', content: [] },
        { type: 'message', ...ids, role: 'assistant', content: [said] },
        { ...CALL, ...ids },
        { ...CALL, ...ids, call_id: 'b' },
        { ...OUTPUT, ...ids },
        { ...OUTPUT, call_id: 'b' },
      ],
      tools: [{ ...TOOL, parameters: { type: 'object', properties: { filePath: { type: 'string' } } }, strict: true }],
      reasoning: { effort: 'low', summary: 'auto', context: 'all_turns' },
      text: { format: { type: 'text' }, verbosity: 'low' },
    };
    expect(translated(body)?.mayPass).toBe(true);
  });

  it('may request an effort in a turn of Messages, as Claude Code does, and nothing else there', () => {
    const passesWith = (output_config: unknown) =>
      translated({ max_tokens: 1, messages: [USER, { role: 'system', content: 'x', output_config }] }, 'messages')
        ?.mayPass;
    expect(passesWith({ effort: 'medium' })).toBe(true);
    expect(passesWith({ effort: 'w'.repeat(50) })).not.toBe(true);
    expect(passesWith({ effort: 'low', format: { type: 'json_schema', schema: {} } })).not.toBe(true);
    expect(passesWith([])).not.toBe(true);
  });

  it('has no reasoning that a provider would look up, or that was not checked', () => {
    const passesWith = (item: JsonObject) => translated({ input: [USER, item, ASSISTANT] })?.mayPass;
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };
    expect(passesWith({ ...reasoning, encrypted_content: 'gAAAA' })).toBe(true);
    expect(passesWith(reasoning)).toBe(false);
    const image = [{ type: 'input_image', image_url: 'http://169.254.169.254/' }];
    expect(passesWith({ ...reasoning, encrypted_content: 'gAAAA', content: image })).toBe(false);
  });

  it('has no name that differs from the API by case, except in schemas and arguments', () => {
    expect(translated({ input: [{ ...USER, Type: 'web_search' }] })?.mayPass).not.toBe(true);
    expect(translated({ input: [USER], reasoning: { EFFORT: 'high' } })?.mayPass).toBe(false);
    const use = { type: 'tool_use', id: 't', name: 'f', input: { filePath: 'x' } };
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [use] },
    ];
    expect(translated({ max_tokens: 1, messages }, 'messages')?.mayPass).toBe(true);
    expect(
      translated({ max_tokens: 1, messages: [{ role: 'user', content: [{ type: 'text', Text: 'x' }] }] }, 'messages')
        ?.mayPass,
    ).not.toBe(true);
  });

  it.each<JsonObject>([
    { input: [USER], tools: [{ type: 'namespace', name: 'n', server_url: 'http://x', tools: [TOOL] }] },
    { input: [USER], reasoning: { effort: 'low', mode: 'pro' } },
    { input: [USER], text: { file_id: 'file-1' } },
    { input: [USER, { ...CALL, container_id: 'c' }, OUTPUT] },
    { input: [USER, CALL, { ...OUTPUT, file_id: 'file-1' }] },
    { input: [USER, CALL, { ...OUTPUT, image_url: 'http://x' }] },
    { input: [{ type: 'additional_tools', tools: [TOOL], server_url: 'http://x' }, USER] },
    { input: [USER], tools: [TOOL], tool_choice: { ...TOOL, server_label: 'x' } },
    { input: [USER, { type: 'reasoning', id: 'r', encrypted_content: 'a', summary: [{ type: 'input_image' }] }] },
  ])('has no member that the door has not checked: %j', (body) => {
    expect(translated(body)?.mayPass).not.toBe(true);
  });

  it('has no choice among tools that a provider hosts', () => {
    const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp', server_label: 'x' }] };
    expect(translated({ input: [USER], tools: [TOOL], tool_choice })).toBeUndefined();
  });
});

/** Paths of all members and elements. */
function pathsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const here = [...path, name];
    return [here, ...pathsIn(member, here)];
  });
}

function put(value: unknown, [name, ...rest]: readonly string[], other: unknown): unknown {
  if (name === undefined) return other;
  if (Array.isArray(value)) return value.map((one, at) => (String(at) === name ? put(one, rest, other) : one));
  return isObject(value) ? { ...value, [name]: put(value[name], rest, other) } : value;
}

const odd = fc.constantFrom<unknown>(
  ...[null, 1, 1.5, true, '', 'x', [], {}, [[]], [null], { toString: 1, valueOf: 1 }, { __proto__: null, type: 7 }],
  ...['gw1.', 'gw1.e30', [{ type: 'text', text: 1 }], '12345678901234567890.0'],
);

const REQUESTS = [
  ['responses', responsesRequest],
  ['messages', messagesRequest],
] as const;
/** As a client sends it. */
const sentBy = (request: fc.Arbitrary<unknown>) => request.map((body) => JSON.parse(JSON.stringify(body)));

function at(value: unknown, [name, ...rest]: readonly string[]): unknown {
  return name === undefined ? value : at((value as JsonObject)[name], rest);
}

test.each(REQUESTS)('a body of %s with a longer text or object is counted or not passed on', (api, request) => {
  fc.assert(
    fc.property(sentBy(request), fc.nat(), fc.integer({ min: 1_000, max: 5_000 }), (body, place, length) => {
      const paths = pathsIn(body).filter((path) => !['model', 'metadata'].includes(String(path[0])));
      const path = paths[place % paths.length] ?? [];
      const given = at(body, path);
      const isFree = path.some((name) => ['parameters', 'input_schema', 'schema'].includes(name));
      if (isFree || (typeof given !== 'string' && !isObject(given))) return;
      const more = 'w'.repeat(length);
      const [before, after] = [
        translated(body, api),
        translated(put(body, path, isObject(given) ? { ...given, more } : given + more) as JsonObject, api),
      ];
      if (!before || !after?.mayPass) return;
      const counted = (one: typeof after) => one.bytes.length + one.unreadBytes;
      expect(counted(after) - counted(before)).toBeGreaterThanOrEqual(length - 300);
      expect(after.unreadBytes - before.unreadBytes).toBeLessThan(300);
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

test.each(REQUESTS)('no value of a body of %s makes a translation throw', (api, request) => {
  fc.assert(
    fc.property(sentBy(request), fc.nat(), odd, (body, place, other) => {
      const paths = pathsIn(body);
      const bytes = Buffer.from(JSON.stringify(put(body, paths[place % paths.length] ?? [], other)));
      const job = { bytes, api, model: { reasoningEfforts: ['low'] }, extraFields: [] };
      expect(['translated', 'invalid']).toContain(translateRequest(job)?.kind);
    }),
    { numRuns: propertyRuns(3_000) },
  );
});

/** By the least of both: other work of the machine makes some longer, so they are repeated. */
function timesAsLong(one: () => number, other: () => number, enough: number): number {
  let [oneMs, otherMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turn = 0; turn < 40 && !(turn > 2 && oneMs < enough * otherMs); turn++) {
    oneMs = Math.min(oneMs, one());
    otherMs = Math.min(otherMs, other());
  }
  return oneMs / otherMs;
}

test.each<[string, () => JsonObject[]]>([
  ['texts after calls', () => [CALL, ASSISTANT]],
  [
    'texts with parts after calls',
    () => [
      CALL,
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'x' },
          { type: 'refusal', refusal: 'y' },
        ],
      },
    ],
  ],
  ['reasoning', () => [{ type: 'reasoning', id: 'r', summary: summary('x'), encrypted_content: 'a' }]],
  ['outputs', () => [CALL, OUTPUT]],
])('the time of a translation grows with the body: %s', (_, items) => {
  const timeOf = (times: number): number => {
    const body = { input: [USER, ...Array.from({ length: times }, items).flat()] };
    translated(body);
    const startedMs = performance.now();
    translated(body);
    return performance.now() - startedMs;
  };
  // Eight times the items: a quadratic one takes 64 times as long.
  expect(
    timesAsLong(
      () => timeOf(8_000),
      () => timeOf(1_000),
      24,
    ),
  ).toBeLessThan(24);
});

const many = (count: number, of = '') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`member${of}_${index}`, 1]));

test.each<['responses' | 'messages', string, JsonObject]>([
  ['messages', 'messages[0]', { messages: [{ ...USER, ...many(65) }] }],
  ['messages', 'messages[0].content[0]', { messages: [{ ...USER, content: [{ type: 'text', ...many(65) }] }] }],
  ['messages', 'messages[0].content[0]', { messages: [{ ...ASSISTANT, content: [{ type: 'text', ...many(65) }] }] }],
  ['messages', 'tools[0]', { messages: [USER], tools: [{ name: 'f', ...many(65) }] }],
  ['responses', 'input[0]', { input: [{ ...USER, ...many(65) }] }],
  ['responses', 'input[0].content[0]', { input: [{ ...USER, content: [{ type: 'input_text', ...many(65) }] }] }],
  ['responses', 'tools[0]', { input: [USER], tools: [{ ...TOOL, ...many(65) }] }],
])('of %s, %s has at most 64 members', (api, param, body) => {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', ...body }));
  const result = translateRequest({ bytes, api, model: { reasoningEfforts: [] }, extraFields: [] });
  expect(result).toEqual({ kind: 'invalid', param, requirement: 'must be an object of at most 64 members' });
});

test('nested documents take no more time than as many documents in a list', () => {
  const depth = 40;
  const document = (content: JsonObject, index: number): JsonObject => ({
    ...{ type: 'document', source: { type: 'content', content: [content] }, ...many(60, String(index)) },
  });
  const text = { type: 'text', text: 'x' };
  const beside = Array.from({ length: depth }, (_, index) => document(text, index));
  const within = [Array.from({ length: depth }).reduce<JsonObject>((inner, _, index) => document(inner, index), text)];
  const timeOf = (content: readonly JsonObject[]): number => {
    const startedMs = performance.now();
    translated({ messages: [{ role: 'user', content }] }, 'messages');
    return performance.now() - startedMs;
  };
  expect(
    timesAsLong(
      () => timeOf(within),
      () => timeOf(beside),
      4,
    ),
  ).toBeLessThan(4);
});

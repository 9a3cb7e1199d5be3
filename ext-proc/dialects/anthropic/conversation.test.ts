import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { parseExactly } from '../exact-json.ts';
import { conversationOf } from './conversation.ts';

const text = (words: string, more: JsonObject = {}) => ({ type: 'text', text: words, ...more });
const user = (...content: JsonObject[]) => ({ role: 'user', content });
const HI = { role: 'user', content: 'Hi' };
const CACHED = { cache_control: { type: 'ephemeral', ttl: '1h' } };

const turnsOf = (...messages: JsonObject[]) => conversationOf(messages).turns;

/** Blocks of an assistant's message. */
function spoken(message: JsonObject): JsonObject[] {
  const [, turn] = turnsOf(HI, { role: 'assistant', ...message });
  return turn?.content ?? [];
}

const call = (id: string, input = '{}', name = 'f') => ({ id, type: 'function', function: { name, arguments: input } });
const used = (id: string, input: JsonObject = {}) => ({ type: 'tool_use', id, name: 'f', input });
const result = (id: string, content = 'done') => ({ type: 'tool_result', tool_use_id: id, content });

describe('system and developer messages', () => {
  test('are hoisted in order, with their cache markers', () => {
    const messages = [
      { role: 'system', content: 'One.' },
      HI,
      { role: 'developer', content: [text('Two.', CACHED), text(' '), text('Three.')] },
      { role: 'system', content: 'Four.', ...CACHED },
    ];
    expect(conversationOf(messages)).toEqual({
      system: [text('One.'), text('Two.', CACHED), text('Three.'), text('Four.', CACHED)],
      turns: [user(text('Hi'))],
    });
  });

  test('become a user message if there is no other message', () => {
    expect(conversationOf([{ role: 'system', content: 'Tell a joke.' }])).toEqual({
      system: [],
      turns: [user(text('Tell a joke.'))],
    });
  });
});

describe('parts of a user', () => {
  const png = 'data:image/png;base64,iVBORw0KGgo=';
  const inline = (media_type: string, data: string) => ({ type: 'base64', media_type, data });
  const image = (media_type: string) => ({ type: 'image', source: inline(media_type, 'iVBORw0KGgo=') });
  const pdf = { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' };

  test.each<[string, unknown, JsonObject[]]>([
    ['a text', 'Hi', [text('Hi')]],
    ['text without words', [text(' \n'), text('')], []],
    ['a cached text', [text('Hi', CACHED)], [text('Hi', CACHED)]],
    ['an image', [{ type: 'image_url', image_url: { url: png, detail: 'low' } }], [image('image/png')]],
    ['an image as its URL', [{ type: 'image_url', image_url: png, ...CACHED }], [{ ...image('image/png'), ...CACHED }]],
    ['a JPG', [{ type: 'image_url', image_url: png.replace('png', 'JPG') }], [image('image/jpeg')]],
    ['an image with parameters', [{ type: 'image_url', image_url: png.replace(';', ';a=b;') }], [image('image/png')]],
    [
      'a remote image',
      [{ type: 'image_url', image_url: { url: 'https://example.com/a,b.png' } }],
      [{ type: 'image', source: { type: 'url', url: 'https://example.com/a,b.png' } }],
    ],
    [
      'a PDF',
      [{ type: 'file', file: pdf, ...CACHED }],
      [{ type: 'document', source: inline('application/pdf', 'JVBERi0='), title: 'a.pdf', ...CACHED }],
    ],
    ['a file by its id', [{ type: 'file', file: { file_id: 'file-1' } }], []],
    ['something else', [{ type: 'input_audio', input_audio: {} }, null, 'x'], []],
    ['nothing', undefined, []],
  ])('%s', (_, content, expected) => {
    expect(turnsOf({ role: 'user', content })).toEqual(expected.length === 0 ? [] : [user(...expected)]);
  });

  test('get the cache marker of their message on the last part', () => {
    expect(turnsOf({ role: 'user', content: [text('a'), text('b')], ...CACHED })).toEqual([
      user(text('a'), text('b', CACHED)),
    ]);
    const shorter = { cache_control: { type: 'ephemeral' } };
    expect(turnsOf({ role: 'user', content: [text('a', shorter)], ...CACHED })).toEqual([user(text('a', shorter))]);
  });
});

describe('messages of an assistant', () => {
  test.each<[string, JsonObject, JsonObject[]]>([
    ['text', { content: 'Hi ' }, [text('Hi')]],
    [
      'parts',
      { content: [text('Hi', CACHED), { type: 'refusal', refusal: 'No.' }] },
      [text('Hi', CACHED), text('No.')],
    ],
    ['a refusal', { content: null, refusal: 'No.' }, [text('No.')]],
    ['nothing', { content: '' }, []],
    ['thoughts of another API', { content: 'Hi', reasoning_content: 'Hm.' }, [text('Hi')]],
    [
      'calls',
      { content: '', tool_calls: [call('a', '{"x":[1]}'), call('b', ' ')] },
      [used('a', { x: [1] }), used('b')],
    ],
    [
      'arguments that are an object',
      { tool_calls: [{ id: 'a', function: { name: 'f', arguments: { x: 1 } } }] },
      [used('a', { x: 1 })],
    ],
    ['arguments that are cut', { tool_calls: [call('a', '{"x":')] }, [used('a', { INVALID_JSON: '{"x":' })]],
    ['arguments that are a list', { tool_calls: [call('a', '[1]')] }, [used('a', { INVALID_JSON: '[1]' })]],
    ['a cached call', { tool_calls: [{ ...call('a'), ...CACHED }] }, [{ ...used('a'), ...CACHED }]],
    [
      'a call of a custom tool',
      { tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f', input: 'ls' } }] },
      [used('a', { input: 'ls' })],
    ],
    ['a call of the deprecated form', { function_call: { name: 'f', arguments: '{}' } }, [used('function_call_1')]],
    ['calls that are none', { content: 'Hi', tool_calls: [null, { id: 7 }, { id: 'a' }] }, [text('Hi')]],
  ])('with %s', (_, message, expected) => {
    expect(spoken(message)).toEqual(expected);
  });

  test('may have arguments of any nesting', () => {
    const deep = `{"x":${'['.repeat(200_000)}1234567890123456789${']'.repeat(200_000)}}`;
    expect(spoken({ tool_calls: [call('a', deep)] })).toEqual([used('a', { INVALID_JSON: deep })]);
    const wide = { x: Array.from({ length: 2000 }, () => ({ y: '"[' })) };
    expect(spoken({ tool_calls: [call('a', JSON.stringify(wide))] })).toEqual([used('a', wide)]);
  });

  test('keep integers that a double cannot hold', () => {
    const [block] = spoken(parseExactly(JSON.stringify({ tool_calls: [call('a', '{"id":9223372036854775807}')] })));
    expect(JSON.stringify(block?.input)).toBe('{"id":9223372036854775807}');
  });

  test('that come first get a user message before them', () => {
    const roles = turnsOf({ role: 'assistant', content: 'Hi' }, HI).map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'user']);
  });

  test('keep white space at their end unless they are last', () => {
    expect(turnsOf(HI, { role: 'assistant', content: 'a ' }, HI)[1]?.content).toEqual([text('a ')]);
  });
});

test('a message may have any number of parts', () => {
  const content = Array.from({ length: 300_000 }, () => text('x'));
  const roles = ['system', 'user', 'user', 'assistant', 'assistant', 'tool', 'tool'];
  const { system, turns } = conversationOf(roles.map((role) => ({ role, content, tool_call_id: 'a' })));
  expect([system, ...turns.map((turn) => turn.content)].map(({ length }) => length)).toEqual([3e5, 6e5, 6e5, 2]);
});

describe('tool results', () => {
  const calls = { role: 'assistant', tool_calls: [call('a'), call('b')] };
  const answer = (id: string, content: unknown = 'done', more: JsonObject = {}) => ({
    ...{ role: 'tool', tool_call_id: id, content, ...more },
  });

  test('of one turn become one message, followed by the user’s text', () => {
    const turns = turnsOf(HI, calls, answer('a'), HI, answer('b'), { role: 'system', content: 'S.' }, HI, calls);
    expect(turns).toEqual([
      user(text('Hi')),
      { role: 'assistant', content: [used('a'), used('b')] },
      user(result('a'), result('b'), text('Hi'), text('Hi')),
      { role: 'assistant', content: [expect.objectContaining({ name: 'f' }), expect.objectContaining({ name: 'f' })] },
    ]);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['without words', answer('a', ''), { type: 'tool_result', tool_use_id: 'a' }],
    ['in parts', answer('a', [text('x'), text('y')]), { ...result('a'), content: [text('x'), text('y')] }],
    [
      'with a cached part',
      answer('a', [text('x', CACHED), text('y')]),
      { ...result('a'), content: [text('x'), text('y')], ...CACHED },
    ],
    ['that is cached', answer('a', 'done', CACHED), { ...result('a'), ...CACHED }],
  ])('%s', (_, message, expected) => {
    expect(turnsOf(HI, { ...calls, tool_calls: [call('a')] }, message)[2]).toEqual(user(expected));
  });

  test('of the deprecated form belong to the latest call of their function', () => {
    const called = { role: 'assistant', function_call: { name: 'f', arguments: '{}' } };
    const returned = { role: 'function', name: 'f', content: 'done' };
    const turns = turnsOf(HI, called, returned, called, returned);
    expect(turns.slice(1).map(({ content }) => content)).toEqual([
      [used('function_call_1')],
      [result('function_call_1')],
      [used('function_call_2')],
      [result('function_call_2')],
    ]);
  });

  test('have the ids of their calls, which are accepted and unique', () => {
    const ids = ['functions.f:0', 'call_1|fc_2', 'x'.repeat(200), 'call_1', ''];
    const turns = [1, 2].flatMap(() => [
      { role: 'assistant', tool_calls: ids.map((id) => call(id)) },
      ...ids.map((id) => answer(id)),
    ]);
    const [, first, second, third, fourth] = turnsOf(HI, ...turns).map(({ content }) => content);
    expect(second?.map(({ tool_use_id: id }) => id)).toEqual(first?.map(({ id }) => id));
    expect(fourth?.map(({ tool_use_id: id }) => id)).toEqual(third?.map(({ id }) => id));
    const sent = [...(first ?? []), ...(third ?? [])].map(({ id }) => String(id));
    expect(new Set(sent).size).toBe(10);
    expect(sent.every((id) => /^[a-zA-Z0-9_-]{1,64}$/.test(id))).toBe(true);
    expect(sent[3]).toBe('call_1');
  });

  test('of unknown calls are sent unchanged', () => {
    expect(turnsOf(answer('call_9'))).toEqual([user(result('call_9'))]);
  });
});

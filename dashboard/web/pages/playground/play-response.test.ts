import { expect, test } from 'vitest';
import { ApiProblem } from '../../api/api.ts';
import {
  messagesOf,
  NO_RESPONSE,
  type Play,
  type PlayResponse,
  responseAfter,
  responseAtEnd,
} from './play-response.ts';

const after = (...events: readonly object[]): PlayResponse =>
  events.map((event) => JSON.stringify(event)).reduce(responseAfter, NO_RESPONSE);
const done = (response: PlayResponse) => responseAfter(response, '[DONE]');
const delta = (value: object) => ({ choices: [{ index: 0, delta: value }] });
const FAILURE = { error: { code: 'upstream_error', message: 'Broken.', metadata: { a: 1 } }, choices: [] };

test('a response has the text, the reasoning and the usage of its events', () => {
  const response = after(
    delta({ role: 'assistant', content: '' }),
    delta({ reasoning_content: 'Hm.' }),
    delta({ content: 'One ' }),
    delta({ content: 'two' }),
    { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, cost: 0.002 } },
  );
  expect(response).toEqual({
    ...{ state: 'streaming', reasoning: 'Hm.', text: 'One two', calls: [] },
    usage: { promptTokens: 10, completionTokens: 5, costUsd: 0.002 },
  });
  expect(done(response).state).toBe('complete');
});

test('an error in the stream remains after the last event, with what came before', () => {
  const response = done(after(delta({ content: 'One' }), FAILURE));
  expect(response).toMatchObject({ state: 'failed', text: 'One' });
  expect(response.failure).toEqual({ code: 'upstream_error', message: 'Broken.', metadata: { a: 1 } });
});

test('nothing after its end makes a response complete or open again', () => {
  const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, cost: 0.002 } };
  const failed = after(delta({ content: 'One' }), FAILURE, usage, delta({ content: 'two' }));
  expect([failed.state, done(failed).state]).toEqual(['failed', 'failed']);
  const complete = done(after(delta({ content: 'One' })));
  expect(responseAfter(complete, JSON.stringify(usage)).state).toBe('complete');
});

test('a call with an index that no list has is added to the first', () => {
  const piece = (index: unknown) =>
    delta({ tool_calls: [{ index, id: 'a', function: { name: 'f', arguments: '1' } }] });
  const { calls } = after(piece(-1), piece('__proto__'), piece(-2), piece(0.5));
  expect(calls).toEqual([{ id: 'a', type: 'function', function: { name: 'f', arguments: '1111' } }]);
});

test('a stream without its last event was cut off, unless the dashboard refused it', () => {
  expect(responseAtEnd(after(delta({ content: 'One' }))).state).toBe('cut');
  const problem = new ApiProblem({ problem: 'too_many_requests', message: 'Wait.' });
  expect(responseAtEnd(NO_RESPONSE, problem)).toMatchObject({ state: 'failed', problem });
  const complete = done(after(delta({ content: 'One' })));
  expect(responseAtEnd(complete)).toBe(complete);
});

test.each([
  ['no JSON', 'oh no'],
  ['another value', '[1]'],
  ['no choices', '{"choices":"none"}'],
  ['a delta of another type', '{"choices":[{"delta":7}]}'],
  ['a content of another type', '{"choices":[{"delta":{"content":[1]}}]}'],
])('an event with %s is ignored', (_, data) => {
  expect(responseAfter(NO_RESPONSE, data)).toEqual(NO_RESPONSE);
});

const play = (said: string, ...texts: readonly string[]): Play => ({
  ...{ id: 0, said, images: [] },
  answers: texts.map((text) => ({ model: 'small', response: { ...NO_RESPONSE, state: 'complete', text } })),
});
const saying = (said: string, ...images: readonly string[]) => ({ said, images });

test('the next request has the system message, the answers so far and the new text', () => {
  const plays = [play('First', 'One'), play('Refused', '')];
  expect(messagesOf('Be kind.', plays, saying('Second'))).toEqual([
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'First' },
    { role: 'assistant', content: 'One' },
    { role: 'user', content: 'Second' },
  ]);
  expect(messagesOf('  ', [], saying(''))).toEqual([]);
});

test('without a text the code shows the last request, because a request does not end with a response', () => {
  const plays = [play('First', 'One'), play('Second', 'Two')];
  const contents = messagesOf('', plays, saying('')).map(({ content }) => content);
  expect(contents).toEqual(['First', 'One', 'Second']);
});

test('each of two models receives its own answers, and those from before there were two', () => {
  const plays = [play('First', 'One'), play('Second', 'Two', 'Deux')];
  const contents = messagesOf('', plays, saying('Third'), 1).map(({ content }) => content);
  expect(contents).toEqual(['First', 'One', 'Second', 'Deux', 'Third']);
});

test('images are parts of a message', () => {
  expect(messagesOf('', [], saying('See', 'data:a'))).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See' },
        { type: 'image_url', image_url: { url: 'data:a' } },
      ],
    },
  ]);
});

test('tool calls arrive in pieces, and the next text is their result', () => {
  const response = done(
    after(
      delta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
      delta({ tool_calls: [{ index: 1, id: 'call_2', function: { name: 'g', arguments: '{}' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    ),
  );
  const calls = [
    { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'call_2', type: 'function', function: { name: 'g', arguments: '{}' } },
  ];
  expect(response.calls).toEqual(calls);
  const asked = { id: 0, said: 'Ask', images: [], answers: [{ model: 'small', response }] };
  expect(messagesOf('', [asked], saying('42'))).toEqual([
    { role: 'user', content: 'Ask' },
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'call_1', content: '42' },
    { role: 'tool', tool_call_id: 'call_2', content: '42' },
  ]);
});

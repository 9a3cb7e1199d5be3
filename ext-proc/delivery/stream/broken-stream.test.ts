import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openDelivery } from '../client.fixture.ts';
import { chunk, DONE, event, HELLO, ours, STOP, sendStream } from '../egress.fixture.ts';

const { egress, deliverStream } = await openDelivery();

/** The first choices of the events in this part of a stream. */
const choicesIn = (text: string, from: number, to: number) =>
  text
    .split('\n\n')
    .slice(from, to)
    .map((one) => JSON.parse(one.slice(6)).choices[0]);

const FAILED =
  'data: {"error":{"message":"The model provider failed.","type":"api_error","code":"upstream_error","metadata":{}},"id":"gen-TEST","object":"chat.completion.chunk","created":1732156800,"model":"public-model","choices":[{"index":0,"delta":{"role":"error","content":""},"finish_reason":"error"}]}\n\n';

describe('an imperfect stream of a provider', () => {
  test.each<[string, string | null]>([
    ['names none', null],
    ['has an empty one', ''],
  ])('gets a finish reason if it %s', async (_, reason) => {
    egress.respondWith(sendStream([...HELLO, chunk({ content: '!' }, reason), DONE]));
    const { charges, text } = await deliverStream({ includeUsage: true });
    expect(choicesIn(text, 3, -3)).toMatchObject([
      { delta: { content: '!' }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: 'stop' },
    ]);
    expect(text.endsWith(DONE)).toBe(true);
    expect(charges).toMatchObject([{ finishReason: 'stop' }]);
  });

  test('gets an index for each call, and the finish reason tool_calls', async () => {
    const call = (id: string) =>
      chunk({ tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] });
    egress.respondWith(sendStream([call('a'), call('b'), chunk({}, ''), DONE]));
    const { charges, text } = await deliverStream();
    expect(choicesIn(text, 0, -2)).toMatchObject([
      { delta: { tool_calls: [{ index: 0, id: 'a' }] } },
      { delta: { tool_calls: [{ index: 1, id: 'b' }] } },
      { finish_reason: null },
      { delta: {}, finish_reason: 'tool_calls' },
    ]);
    expect(charges).toMatchObject([{ finishReason: 'tool_calls' }]);
  });
});

describe('a stream that fails midway', () => {
  const resets = (response: { destroy(): unknown }) => response.destroy();
  const ends = (response: { end(): unknown }) => response.end();
  const endsWithDone = (response: ServerResponse) => response.end(DONE);
  test.each<[string, readonly string[], (response: ServerResponse) => unknown, string]>([
    ['a reset', [], resets, 'reset'],
    ['a clean end without finish reason', [], ends, 'incomplete'],
    ['an error event', [event({ error: { message: 'boom' } })], endsWithDone, 'error_body'],
    ['an error event with a name', ['event: error\ndata: boom\n\n'], ends, 'error_body'],
    ['an error event of a busy provider', [event({ error: { code: 429 } })], ends, 'error_body'],
    ['a finish reason of error', [chunk({}, 'error')], endsWithDone, 'error_body'],
    ['garbage', ['data: {"id":\n\n'], endsWithDone, 'malformed'],
    ['something that is no object', ['data: [1]\n\n'], endsWithDone, 'malformed'],
    ['half an event', [chunk({ content: 'lost' }).slice(0, 50)], ends, 'incomplete'],
    ['a body above the limit', [chunk({ content: 'x'.repeat(5000) })], ends, 'too_large'],
  ])('by %s', async (_, more, after, result) => {
    egress.respondWith(sendStream([...HELLO, ...more], after));
    const { outcome, charges, to, text } = await deliverStream({ includeUsage: true, responseBodyBytes: 3000 });
    const [first, second, third, usage, ...end] = text.split('\n\n').map((one) => `${one}\n\n`);
    expect([first, second, third]).toEqual(HELLO.map(ours));
    expect(JSON.parse(usage?.slice(6) ?? '')).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2, cost: 0.25 },
    });
    expect(end.join('')).toBe(`${FAILED}${DONE}\n\n`);
    expect(to.ended).toBe(true);
    expect(charges).toMatchObject([
      { usage: { promptTokens: 3, completionTokens: 2 }, usageCounted: true, cancelled: false, finishReason: 'error' },
    ]);
    expect(outcome).toMatchObject({ status: 200, attempts: [{ result }], refusal: { code: 'upstream_error' } });
  });

  const DEEP = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  test.each([
    ['a call without index', '"tool_calls":[{"function":{"name":"f"},"x":DEEP}]'],
    ['a chunk with a hidden member', '"content":"x","cost":1,"x":DEEP'],
  ])('by %s, nested so deeply that it cannot be written again', async (_, members) => {
    const nested = `data: {"choices":[{"index":0,"delta":{${members.replace('DEEP', DEEP)}}}]}\n\n`;
    egress.respondWith(sendStream([...HELLO, nested, STOP, DONE]));
    const { outcome, charges, text } = await deliverStream();
    expect(text).toBe(HELLO.map(ours).join('') + FAILED + DONE);
    expect(outcome).toMatchObject({ attempts: [{ result: 'malformed' }], refusal: { code: 'upstream_error' } });
    expect(charges).toMatchObject([{ usage: { completionTokens: 2 }, finishReason: 'error' }]);
  });

  test('shows no usage to a client that did not request it', async () => {
    egress.respondWith(sendStream(HELLO, resets));
    const { text } = await deliverStream();
    expect(text).toBe(HELLO.map(ours).join('') + FAILED + DONE);
  });

  test.each<[string, (response: ServerResponse) => unknown]>([
    ['a clean end', ends],
    ['a clean end within an event', (response) => response.end('data: [DO')],
    ['a reset', resets],
  ])('is complete if all finish reasons came before %s', async (_, after) => {
    egress.respondWith(sendStream([...HELLO, STOP], after));
    const { outcome, text } = await deliverStream();
    expect(text).toBe([...HELLO, STOP].map(ours).join('') + DONE);
    expect(outcome.refusal).toBeUndefined();
  });

  test('when one of several choices did not finish', async () => {
    const other = chunk({}, null, { choices: [{ index: 1, delta: { content: 'x' } }] });
    egress.respondWith(sendStream([...HELLO, other, STOP]));
    const { outcome } = await deliverStream({ completions: 2 });
    expect(outcome.refusal?.code).toBe('upstream_error');
    egress.respondWith(sendStream([...HELLO, other, STOP, DONE]));
    expect((await deliverStream({ completions: 2 })).outcome.refusal).toBeUndefined();
  });

  test('ignores what follows [DONE]', async () => {
    egress.respondWith(sendStream([...HELLO, STOP, DONE + chunk({ content: 'late' }), 'data: {oops\n\n']));
    const { text } = await deliverStream();
    expect(text).toBe([...HELLO, STOP].map(ours).join('') + DONE);
  });
});

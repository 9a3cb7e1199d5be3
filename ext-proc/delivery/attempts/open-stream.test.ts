import { describe, expect, test } from 'vitest';
import { provider } from '../admitted-request.fixture.ts';
import { client, openDelivery } from '../client.fixture.ts';
import {
  chunk,
  DONE,
  event,
  HELLO,
  ours,
  type ProviderHandler,
  STOP,
  sendStream,
  USAGE,
  usageChunk,
} from '../egress.fixture.ts';

const { egress, deliverStream } = await openDelivery();

const two = { providers: [provider('alpha'), provider('beta')], retriesPerTarget: 0 };
const WHOLE = [...HELLO, STOP, usageChunk(), DONE];
const ROLE = chunk({ role: 'assistant', content: '' });
const ERROR = event({ error: { message: 'overloaded' } });
const fails = (response: Parameters<ProviderHandler>[0]) => response.end(ERROR);

describe('a target that has said nothing yet', () => {
  const nulls = { content: null, refusal: null, reasoning_content: '', tool_calls: [], function_call: null };
  test.each<[string, readonly string[]]>([
    ['its role', [ROLE]],
    ['its role beside empty members', [chunk({ role: 'assistant', ...nulls }, null, { usage: null })]],
    ['a chunk without choices', [event({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] }), ROLE]],
    ['the roles of several choices', [0, 1].map((index) => event({ choices: [{ index, delta: { role: 'x' } }] }))],
  ])('but %s is followed by the next one when it fails', async (_, pieces) => {
    for (const after of [fails, (response: { destroy(): unknown }) => response.destroy()]) {
      egress.respondWith(sendStream(pieces, after), sendStream(WHOLE));
      const { outcome, charges, text } = await deliverStream(two);
      expect(outcome).toMatchObject({ status: 200, attempts: [{ provider: 'alpha' }, { result: 'ok' }] });
      expect(text).toBe([...HELLO, STOP].map(ours).join('') + DONE);
      expect(charges).toMatchObject([{ provider: 'beta', usage: { completionTokens: 5 } }]);
    }
  });

  test('and ends is followed by the next one, but a whole answer without output is an answer', async () => {
    egress.respondWith(sendStream([ROLE]), sendStream([ROLE, DONE]));
    const { outcome, charges, text } = await deliverStream(two);
    expect(outcome.attempts).toMatchObject([{ result: 'malformed' }, { provider: 'beta', result: 'ok' }]);
    expect(text).toMatch(/"role":"assistant".*"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/s);
    expect(charges).toMatchObject([{ provider: 'beta', finishReason: 'stop', usage: { completionTokens: 0 } }]);
  });
});

describe('a target that has said something', () => {
  const call = { index: 0, id: 'a', function: { name: 'f', arguments: '' } };
  test.each<[string, string]>([
    ['a text', chunk({ role: 'assistant', content: 'a' })],
    ['a part', chunk({ content: [{ type: 'thinking', thinking: [] }] })],
    ['its reasoning', chunk({ reasoning: 'a' })],
    ['sealed reasoning', chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'a' }] })],
    ['a call', chunk({ tool_calls: [call] })],
    ['a refusal', chunk({ refusal: 'no' })],
    ['a finish reason', chunk({}, 'length')],
    ['a usage', chunk({ role: 'assistant' }, null, { usage: USAGE })],
    ['nothing sixteen times', ROLE.repeat(16)],
    ['nothing at length', chunk({ role: 'assistant', content: '' }, null, { padding: 'x'.repeat(70_000) })],
  ])('as %s has answered', async (_, piece) => {
    egress.respondWith(sendStream([ROLE, piece], fails), sendStream(WHOLE));
    const { outcome, charges } = await deliverStream(two);
    expect(outcome).toMatchObject({ status: 200, attempts: [{ provider: 'alpha', result: 'error_body' }] });
    expect(charges).toMatchObject([{ provider: 'alpha' }]);
  });

  test.each([
    ['with its first output', two, ''],
    ['at once, where it is the only target', {}, ours(ROLE)],
  ])('is passed on %s', async (_, options, first) => {
    const to = client();
    const seen: string[] = [];
    egress.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(ROLE);
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (first !== '') await expect.poll(() => to.text()).toBe(first);
      seen.push(to.text());
      response.write(HELLO[1]);
      await expect.poll(() => to.text()).toContain('Hello');
      seen.push(to.text());
      response.end(WHOLE.slice(2).join(''));
    });
    await deliverStream(options, to);
    expect(seen).toEqual([first, [ROLE, HELLO[1] ?? ''].map(ours).join('')]);
    expect(to.text()).toBe([ROLE, ...HELLO.slice(1), STOP].map(ours).join('') + DONE);
  });
});

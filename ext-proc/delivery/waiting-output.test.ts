import { describe, expect, test } from 'vitest';
import { messagesRequest, responsesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { chunk, sendStream } from './egress.fixture.ts';

const { egress, delivery, another } = await openDelivery();

const called = (index: number, name: string, input: string) =>
  chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: input } }] });
const ERROR = 'data: {"error":{"message":"the provider failed"}}\n\n';

describe.each([
  ['Responses', responsesRequest, 'event: error'],
  ['Messages', messagesRequest, 'event: message_delta'],
] as const)('a stream of %s that fails while output waits for the input of a call', (_, requestAt, failure) => {
  test.each([
    ['no input', ''],
    ['part of its input', '{"city":'],
  ])('delivers all that was produced: %s', async (_case, input) => {
    const others = [called(1, 'time', '{"zone":1}'), chunk({ content: 'Both' }), chunk({ content: ' asked.' })];
    egress.respondWith(sendStream([called(0, 'weather', input), ...others, ERROR]));
    const to = client();
    const { outcome, charges } = await deliverTo(delivery, to, await requestAt('chat', {}, { stream: true }));
    expect(outcome.refusal?.code).toBe('upstream_error');
    expect(charges).toMatchObject([{ usageCounted: true }]);
    const [shown = '', end] = to.text().split(failure);
    expect(end).toBeDefined();
    expect(shown).toMatch(/weather.*call_1.*zone.*Both.* asked\./s);
  });

  test('delivers nothing more if a part before it could not be delivered', async () => {
    const small = another({ responseBudgetBytes: 300_000 });
    const waiting = Array.from({ length: 40 }, () => chunk({ content: 'some words '.repeat(1_000) }));
    egress.respondWith(sendStream([called(0, 'weather', ''), ...waiting, ERROR]));
    const to = client();
    await deliverTo(small, to, await requestAt('chat', {}, { stream: true }));
    expect(to.text().includes('some words')).toBe(false);
    expect(small.responseBudget.heldBytes).toBe(0);
  });
});

test('Responses does not call output whole that a failure cut off', async () => {
  egress.respondWith(sendStream([chunk({ content: 'Hi' }), called(0, 'weather', ''), called(1, 'time', '{}'), ERROR]));
  const to = client();
  await deliverTo(delivery, to, await responsesRequest('chat', {}, { stream: true }));
  const events = to
    .text()
    .split('\n\n')
    .slice(0, -1)
    .map((event) => JSON.parse(event.slice(event.indexOf('{'))));
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, number) => number));
  expect(events.at(-1).response.output).toMatchObject([
    { type: 'message', status: 'completed' },
    { name: 'weather', arguments: '', status: 'incomplete' },
    { name: 'time', arguments: '{}', status: 'incomplete' },
  ]);
  const ended = events.filter(({ type }) => type === 'response.output_item.done');
  expect(ended.map(({ item }) => item.status)).toEqual(['completed', 'incomplete']);
});

import { afterAll, expect, test } from 'vitest';
import { admittedRequest } from '../admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from '../client.fixture.ts';
import { COMPLETION, sendJson, USAGE } from '../egress.fixture.ts';
import { ResponseReader } from './response-reader.ts';

const NAMES = { generationId: 'gen-TEST', model: 'public-model', api: 'chat' as const };
const MIB = 1024 * 1024;
const { egress, delivery } = await openDelivery();
const reader = new ResponseReader();
afterAll(() => reader.close());

const messageOf = (content: string) => ({ role: 'assistant', content });
const responseOf = (content: string, more: object = {}) => ({
  ...COMPLETION,
  choices: [{ index: 0, message: messageOf(content), finish_reason: 'length' }],
  ...more,
});
const largeText = 'some words '.repeat(200_000);
const bytesOf = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

test('a large response is read like a small one, number by number', async () => {
  const tier = { service_tier: 'flex' };
  const { usage: _, ...counted } = responseOf(largeText, { ...tier, provider: 'hidden', cost: 3 });
  for (const response of [responseOf(largeText, tier), counted]) {
    egress.respondWith(sendJson(response));
    const to = client();
    const { charges } = await deliverTo(delivery, to, admittedRequest({ responseBodyBytes: 8 * MIB }));
    const { usage, ...shown } = JSON.parse(to.text());
    const { usage: _, ...sent } = responseOf(largeText, tier);
    expect(shown).toEqual({ ...sent, id: 'gen-TEST', model: 'public-model' });
    // Counted are the first 128 Ki characters, and the rest by its size.
    const [prompt, completion] = 'usage' in response ? [USAGE.prompt_tokens, USAGE.completion_tokens] : [3, 400_000];
    expect([usage.prompt_tokens, usage.cost]).toEqual([prompt, 0.25]);
    expect(Math.abs(usage.completion_tokens - completion)).toBeLessThan(20);
    expect(charges[0]?.usage).toMatchObject({ promptTokens: prompt, completionTokens: usage.completion_tokens });
    expect(charges).toMatchObject([{ upstreamId: 'chatcmpl-1', finishReason: 'length', serviceTier: 'flex' }]);
  }
});

test('a large text that is not a response fails like a small one', async () => {
  const padding = 'x'.repeat(2 * MIB);
  for (const response of [
    `{"choices":[{"message":{"content":"${padding}"}}]`,
    { choices: [], padding },
    { error: { message: 'overloaded', code: 'x' }, padding },
    `[${JSON.stringify(padding)}]`,
  ]) {
    const large = await reader.read(bytesOf(response), NAMES, 'org_a');
    const text = bytesOf(response).toString().replace(padding, 'x');
    expect(large).toEqual(await reader.read(bytesOf(text), NAMES, 'org_a'));
    expect(large.kind).toBe('failure');
  }
});

test('millions of objects are refused before they fill the heap; brackets in strings do not count', async () => {
  const brackets = '{},'.repeat(4_100_000);
  const message = { content: brackets };
  const text = await reader.read(bytesOf({ choices: [{ message }] }), NAMES, 'org_a');
  expect(text.kind).toBe('response');
  expect(await reader.read(bytesOf(`{"choices":[${brackets}{}]}`), NAMES, 'org_a')).toMatchObject({
    kind: 'failure',
    result: 'too_large',
  });
});

test('organizations take turns', async () => {
  const done: string[] = [];
  const read = async (organization: string, name: string) => {
    const result = await reader.read(bytesOf(responseOf(largeText)), NAMES, organization);
    expect(result.kind).toBe('response');
    done.push(name);
  };
  await Promise.all([
    ...['a1', 'a2', 'a3', 'a4'].map((name) => read('org_a', name)),
    read('org_b', 'b1'),
    read('org_b', 'b2'),
  ]);
  expect(done).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
});

test('responses that wait or are being read fail when the reader is closed', async () => {
  const closing = new ResponseReader();
  const reading = ['org_a', 'org_a', 'org_b'].map((organization) =>
    closing.read(bytesOf(responseOf(largeText)), NAMES, organization),
  );
  closing.close();
  expect((await Promise.all(reading)).map(({ kind }) => kind)).toEqual(['failure', 'failure', 'failure']);
});

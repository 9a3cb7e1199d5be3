import { describe, expect, test } from 'vitest';
import { NO_USAGE } from '#core/pricing.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { client, countWords, deliverTo, deliveryOver, openDelivery } from '../client.fixture.ts';
import { COMPLETION, envoyReply, type ProviderHandler, sendJson, sendStream } from '../egress.fixture.ts';

const { egress, deliver } = await openDelivery();

/** The attempts that nobody was charged for, when all of them are counted. */
async function unchargedOf(options: AdmittedRequestOptions, ...handlers: ProviderHandler[]) {
  egress.respondWith(...handlers);
  const { uncharged, charges } = await deliver({ retriesPerTarget: 0, ...options });
  await expect.poll(() => uncharged.length).toBeGreaterThan(0);
  expect(charges).toEqual([]);
  return uncharged;
}

const PROMPT = { ...NO_USAGE, promptTokens: 3 };

describe('an uncharged attempt', () => {
  test.each<[string, ProviderHandler, string]>([
    ['a refused connection', envoyReply('UF,URX'), 'connect_failed'],
    ['a target that Envoy has ejected', envoyReply('UH'), 'ejected'],
    ['a cluster that Envoy does not know', envoyReply('NC'), 'no_cluster'],
  ])('has no tokens if it was not sent to a provider: %s', async (_, handler, result) => {
    const [attempt, ...others] = await unchargedOf({}, handler);
    const first = { attempt: 1, provider: 'alpha', providerModel: 'alpha-model' };
    expect(attempt).toMatchObject({ ...first, result, work: 'none' });
    expect(attempt).not.toHaveProperty('tokens');
    expect(others).toEqual([]);
  });

  test.each<[string, ProviderHandler, string]>([
    ['a status', sendJson({}, 500), 'status_500'],
    ['an error inside a 200', sendJson({ error: { message: 'busy' } }), 'error_body'],
  ])('has no tokens if the provider responded with an error: %s', async (_, handler, result) => {
    const [attempt] = await unchargedOf({}, handler);
    expect(attempt).toMatchObject({ result, work: 'refused' });
    expect(attempt).not.toHaveProperty('tokens');
  });

  test.each<[string, AdmittedRequestOptions, ProviderHandler, string]>([
    ['a reset', {}, (response) => response.destroy(), 'reset'],
    ['a reset that Envoy reports', {}, envoyReply('UC'), 'reset'],
    ['a stream that ends before its first event', { stream: true }, sendStream([]), 'malformed'],
    ['no event in time', { stream: true, timeouts: { firstByteMs: 300 } }, () => undefined, 'first_byte_timeout'],
    ['no answer in time', { timeouts: { totalMs: 300 } }, () => undefined, 'total_timeout'],
  ])('has its counted prompt if the provider had the whole request: %s', async (_, options, handler, result) => {
    const beganMs = Date.now();
    const [attempt] = await unchargedOf(options, handler);
    expect(attempt).toMatchObject({ result, work: 'some', tokens: { usage: PROMPT, source: 'counted' } });
    expect(attempt?.askedAtMs).toBeGreaterThanOrEqual(beganMs - 1);
    expect(attempt?.askedAtMs).toBeLessThanOrEqual(Date.now() + 1);
  });

  test('with a response that is too large has output by its length, at most the output limit', async () => {
    const response = (bytes: number) => sendJson({ ...COMPLETION, filling: 'x'.repeat(bytes) });
    const options = { responseBodyBytes: 200 };
    const [long] = await unchargedOf(options, response(10_000));
    expect(long).toMatchObject({ result: 'too_large', tokens: { usage: { ...PROMPT, completionTokens: 100 } } });
    const [short] = await unchargedOf(options, response(1));
    expect(short?.tokens?.source).toBe('estimated');
    expect(short?.tokens?.usage.completionTokens).toBeGreaterThan(200 / 4);
    expect(short?.tokens?.usage.completionTokens).toBeLessThan(100);
  });

  test('has the provider’s id of the request', async () => {
    const idWith = async (headers: Record<string, string>) =>
      (await unchargedOf({}, sendJson({}, 500, headers)))[0]?.upstreamId;
    expect(await idWith({ 'x-request-id': 'r'.repeat(300) })).toBe('r'.repeat(200));
    expect(await idWith({ 'request-id': 'req-2' })).toBe('req-2');
    expect(await idWith({})).toBeUndefined();
  });

  test('is recorded with its number, even if a later attempt succeeds', async () => {
    egress.respondWith((response) => response.destroy(), sendJson({}, 500), sendJson(COMPLETION));
    const providers = [provider('alpha'), provider('beta')];
    const { uncharged, charges } = await deliver({ providers, retriesPerTarget: 1 });
    await expect.poll(() => uncharged.length).toBe(2);
    const told = uncharged.map(({ attempt, provider: name, result }) => `${attempt} ${name} ${result}`).sort();
    expect(told).toEqual(['1 alpha reset', '2 beta status_500']);
    expect(charges).toHaveLength(1);
  });

  test('is recorded before the service closes even if its count is slow, and is estimated after much counting', async () => {
    const gate = Promise.withResolvers<void>();
    let nowMs = 1_000_000;
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    const slow = deliveryOver(egress, { clock, countTokens: (texts) => gate.promise.then(() => countWords(texts)) });
    egress.respondWith((response) => response.destroy());
    const large = admittedRequest();
    const inputTokens = { ...large.chat.inputTokens, estimate: 500_000, ceiling: 1_500_000 };
    const what = { ...large, deadlineMs: nowMs + 60_000, chat: { ...large.chat, inputTokens } };
    const first = await deliverTo(slow, client(), what);
    const second = await deliverTo(slow, client(), what);
    await expect.poll(() => second.uncharged.length).toBe(1);
    expect(second.uncharged[0]?.tokens).toMatchObject({ usage: { promptTokens: 500_000 }, source: 'estimated' });
    expect(first.uncharged).toEqual([]);
    nowMs += 10_000;
    const third = await deliverTo(slow, client(), what);
    const closed = slow.close();
    gate.resolve();
    await closed;
    for (const { uncharged } of [first, third])
      expect(uncharged[0]?.tokens).toMatchObject({ usage: PROMPT, source: 'counted' });
  });
});

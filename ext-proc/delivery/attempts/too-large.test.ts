import { describe, expect, test } from 'vitest';
import { envelopeOf, refuse } from '#core/errors/refusal.ts';
import { NO_USAGE } from '#core/pricing.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from '../client.fixture.ts';
import { COMPLETION, type ProviderHandler, sendJson, USAGE } from '../egress.fixture.ts';
import { requestTo, SCENARIOS } from '../other-apis.fixture.ts';

const { egress, delivery, deliver } = await openDelivery();

const TWO = { providers: [provider('alpha'), provider('beta')] };
const LONG = [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(300_000) }, finish_reason: 'stop' }];

/** Delivers a JSON answer that is larger than it may be. */
async function deliverLarge(handler: ProviderHandler, options: AdmittedRequestOptions = {}) {
  egress.respondWith(handler);
  const delivered = await deliver({ ...TWO, responseBodyBytes: 10_000, ...options });
  expect(delivered.outcome).toMatchObject({ status: 503, attempts: [{ provider: 'alpha', result: 'too_large' }] });
  expect(JSON.parse(String(delivered.to.responses[0]?.body))).toEqual(envelopeOf(refuse('upstream_error')));
  expect(egress.asked).toHaveLength(1);
  return delivered;
}

describe('a JSON answer above the limit', () => {
  const { usage: _, ...rest } = COMPLETION;
  test.each<[string, object]>([
    ['after its choices', { ...rest, choices: LONG, service_tier: 'flex', usage: USAGE }],
    ['before them', { usage: USAGE, service_tier: 'flex', ...rest, choices: LONG }],
  ])('is charged by its usage %s, and no other target is asked', async (_, answer) => {
    const { charges, uncharged } = await deliverLarge(sendJson(answer));
    expect(charges).toEqual([
      {
        ...{ provider: 'alpha', providerModel: 'alpha-model', upstreamId: 'chatcmpl-1', finishReason: 'error' },
        ...{ usage: { ...NO_USAGE, promptTokens: 7, completionTokens: 5 }, usageCounted: false, cancelled: false },
        ...{ serviceTier: 'flex', latencyMs: expect.any(Number), generationTimeMs: 0 },
      },
    ]);
    expect(uncharged).toEqual([]);
  });

  test.each<[string, AdmittedRequestOptions, number]>([
    ['by its length', { responseBodyBytes: 100 }, Math.ceil(JSON.stringify({ ...rest, pad: 'x' }).length / 4)],
    ['at most the output limit of one choice', {}, 100],
    ['at most that of all choices', { completions: 3 }, 300],
  ])('is charged without a usage %s', async (how, options, completionTokens) => {
    const answer = how === 'by its length' ? { ...rest, pad: 'x' } : { ...rest, choices: LONG };
    const { charges } = await deliverLarge(sendJson(answer), options);
    expect(charges).toMatchObject([
      { usage: { ...NO_USAGE, promptTokens: 3, completionTokens }, usageCounted: true, finishReason: 'error' },
    ]);
  });

  test('keeps no memory while the rest is read, and is charged when that breaks off', async () => {
    const heldBytes: number[] = [];
    const { charges } = await deliverLarge(async (response) => {
      response.write(JSON.stringify(rest).slice(0, -1));
      await expect.poll(() => delivery.responseBudget.heldBytes).toBeGreaterThan(0);
      response.write(','.padEnd(20_000));
      await expect.poll(() => delivery.responseBudget.heldBytes).toBe(0);
      for (let piece = 0; piece < 20; piece++) {
        await new Promise((resolve) => response.write(' '.repeat(100_000), resolve));
        heldBytes.push(delivery.responseBudget.heldBytes);
      }
      response.destroy();
    });
    expect(Math.max(...heldBytes)).toBe(0);
    expect(charges).toMatchObject([{ usage: { promptTokens: 3, completionTokens: 100 }, usageCounted: true }]);
  });

  test('is told as its own error where the charge is refused, which is recorded', async () => {
    egress.respondWith(sendJson({ ...COMPLETION, choices: LONG }));
    const { outcome, uncharged } = await deliver({ responseBodyBytes: 1000 }, client(), async () =>
      refuse('no_capacity'),
    );
    expect(outcome.refusal?.code).toBe('upstream_error');
    expect(uncharged).toMatchObject([{ attempt: 1, tokens: { usage: { completionTokens: 5 }, source: 'reported' } }]);
  });

  test.each(SCENARIOS.map(({ api, name, body }) => ({ api, name, body })))(
    'is charged as one below it: $name of $api',
    async ({ api, body }) => {
      egress.respondWith(sendJson(body));
      const paid = async (responseBodyBytes: number) => {
        const { charges, outcome } = await deliverTo(
          delivery,
          client(),
          requestTo(api, undefined, { responseBodyBytes }),
        );
        const [{ usage, usageCounted, serviceTier, upstreamId } = {}] = charges;
        return { result: outcome.attempts[0]?.result, usage, usageCounted, serviceTier, upstreamId };
      };
      expect(await paid(50)).toEqual({ ...(await paid(1e6)), result: 'too_large' });
    },
  );

  test('has embeddings, and is charged by their usage', async () => {
    const data = [{ object: 'embedding', index: 0, embedding: Array.from({ length: 2000 }, () => 0.123) }];
    egress.respondWith(sendJson({ object: 'list', data, model: 'm', usage: { total_tokens: 9 } }));
    const { chat, ...admitted } = admittedRequest({ responseBodyBytes: 1000 });
    const inputTokens = { ...chat.inputTokens, inputs: { count: 1, longest: 3, givenTokens: 0 } };
    const what = { ...admitted, outputLimit: 0, chat: { ...chat, inputTokens } };
    const { charges, outcome } = await deliverTo(delivery, client(), what);
    expect(outcome).toMatchObject({ status: 503, attempts: [{ result: 'too_large' }] });
    expect(charges).toMatchObject([{ usage: { ...NO_USAGE, promptTokens: 9 }, usageCounted: false }]);
  });
});

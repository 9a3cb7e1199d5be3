import { describe, expect, test } from 'vitest';
import type { Target } from '#core/config/gateway-config.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from '../client.fixture.ts';
import { COMPLETION, envoyReply, type ProviderHandler, sendJson } from '../egress.fixture.ts';
import { RestingTargets } from './resting-targets.ts';

const { egress, another } = await openDelivery();

/** A gateway process whose clock the test moves. */
function process() {
  let nowMs = 1_000_000;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const delivery = another({ clock });
  return {
    delivery,
    passes: (ms: number) => {
      nowMs += ms;
    },
    /** The asked providers, in order, and the code or status of the response. */
    async outcomeOf(options: AdmittedRequestOptions, ...handlers: ProviderHandler[]): Promise<string> {
      egress.respondWith(...handlers);
      const what = { ...admittedRequest({ retriesPerTarget: 0, ...options }), deadlineMs: nowMs + 60_000 };
      const { outcome } = await deliverTo(delivery, client(), what);
      const asked = egress.asked.map(({ headers }) => String(headers['x-gw-cluster']).slice(0, 1)).join('');
      return `${asked} ${outcome.refusal?.code ?? outcome.status}`;
    },
  };
}

const ok = sendJson(COMPLETION);
const busy = (retryAfter?: string, status = 429) =>
  sendJson({}, status, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
const two = { providers: [provider('alpha'), provider('beta')] };

describe('a target that asks for a pause', () => {
  test.each<[string, ProviderHandler, number]>([
    ['its retry-after', busy('7'), 7_000],
    ['60 s at most', busy('3600'), 60_000],
    ['5 s when it gives none', busy(), 5_000],
    ['its retry-after with a 503', busy('7', 503), 7_000],
    ['5 s with an error inside a 200', sendJson({ error: { code: 429, message: 'busy' } }), 5_000],
    ['5 s with a quota that is used up', sendJson({ error: { code: 'insufficient_quota' } }, 429), 5_000],
  ])('rests for %s', async (_, answer, restMs) => {
    const { outcomeOf, passes, delivery } = process();
    const resting = () => Object.fromEntries(delivery.restingTargets(['alpha', 'beta']));
    expect(await outcomeOf(two, answer, ok)).toBe('ab 200');
    expect(resting()).toEqual({ alpha: 1, beta: 0 });
    passes(restMs - 1);
    expect(await outcomeOf(two, ok)).toBe('b 200');
    passes(1);
    expect(await outcomeOf(two, ok)).toBe('a 200');
    expect(resting()).toEqual({ alpha: 0, beta: 0 });
  });

  test.each<[string, ProviderHandler]>([
    ['a 503 without retry-after', busy(undefined, 503)],
    ['a 500', busy('7', 500)],
    ['an overloaded provider', busy('7', 529)],
    ['a wrong key', busy('7', 401)],
    ["Envoy's own 503", envoyReply('UF')],
  ])('does not rest with %s', async (_, answer) => {
    const { outcomeOf } = process();
    await outcomeOf(two, answer, ok);
    expect(await outcomeOf(two, ok)).toBe('a 200');
  });

  test('is called at once, as the last resort, when the others failed', async () => {
    const tookMs = async () => {
      const { outcomeOf } = process();
      await outcomeOf(two, busy('60'), ok);
      const beganMs = performance.now();
      expect(await outcomeOf(two, busy(undefined, 500), ok)).toBe('ba 200');
      return performance.now() - beganMs;
    };
    // A busy machine may stand still in one attempt, and not in all.
    await expect.poll(tookMs).toBeLessThan(1_900);
  });

  test('is retried for a request only after the others, and then as often as they are', async () => {
    const { outcomeOf, passes } = process();
    const patient = { ...two, retriesPerTarget: 1 };
    const answer: ProviderHandler = (response, asked) => {
      passes(1);
      return busy()(response, asked);
    };
    expect(await outcomeOf(patient, answer, busy(undefined, 500), busy(undefined, 500), ok)).toBe('abba 200');
    expect(await outcomeOf(patient, answer, answer, ok)).toBe('bab 200');
    expect(await outcomeOf(patient, answer)).toBe('abab no_capacity');
  });

  test('is called as usual for a model without another target', async () => {
    const { outcomeOf } = process();
    const alone = { providers: [provider('alpha')], retriesPerTarget: 1 };
    expect(await outcomeOf(alone, busy(), ok)).toBe('aa 200');
    expect(await outcomeOf(alone, ok)).toBe('a 200');
  });

  test('rests for every model that has it, even after its provider is reconfigured', async () => {
    const { outcomeOf } = process();
    await outcomeOf(two, busy('60'), ok);
    const anew = { providers: [provider('alpha', { apiKey: 'other' }), provider('beta')] };
    expect(await outcomeOf(anew, ok)).toBe('b 200');
  });
});

describe('rests', () => {
  const target = (model: string): Target => ({ provider: provider('alpha'), model, api: 'chat' });

  test('end at the latest of several times', () => {
    let nowMs = 0;
    const resting = new RestingTargets(() => nowMs);
    resting.rest(target('a'), 10_000);
    resting.rest(target('a'), 1_000);
    nowMs = 9_999;
    expect(resting.rests(target('a'))).toBe(true);
    expect(resting.rests(target('b'))).toBe(false);
    nowMs = 10_000;
    expect(resting.rests(target('a'))).toBe(false);
  });

  test('are at most 10,000; the oldest are dropped', () => {
    const resting = new RestingTargets(() => 0);
    for (let index = 0; index < 10_010; index++) resting.rest(target(String(index)), 60_000);
    expect(resting.countFor(['alpha'])).toEqual(new Map([['alpha', 10_000]]));
    expect([resting.rests(target('9')), resting.rests(target('10'))]).toEqual([false, true]);
  });
});

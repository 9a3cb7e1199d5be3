import { Stripe } from 'stripe';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createLog } from '#core/log/log.ts';
import { topUpAutomatically } from '#dashboard/server/payments/automatic.ts';
import { takeStripeEvent } from '#dashboard/server/payments/webhook.ts';
import { sql } from '../../harness/database.ts';
import type { ApiAnswer } from '../../stripe/stripe-api.ts';
import { paymentsScene } from './payments-scene.ts';

/** Stripe executes a request, but its response is lost or wrong. */
const scene = paymentsScene('gateway_dashboard');
const { stripe, dashboard, at, view, states, balance } = scene;

beforeEach(async () => {
  stripe.world.charges = 0;
  // A round charges every organization, including those of earlier tests.
  await sql(dashboard.databaseUrl, 'update payment_accounts set automatic = false');
  await scene.saveCard();
  await scene.owner.send('PUT', at('automatic-top-up'), { settings: { belowUsd: 5, amountUsd: 20, dailyUsd: 40 } });
});

const log = createLog('silent');
const round = () => topUpAutomatically(stripe.config, { database: dashboard.database, nowMs: () => Date.now(), log });

/** A round more than a minute later, when the top-up is requested again. */
async function laterRound(): Promise<void> {
  await sql(dashboard.databaseUrl, "update top_ups set asked_at = asked_at - interval '2 minutes'");
  await round();
}

const AWAY = { status: 500, body: { error: { type: 'api_error', message: 'Away' } } };
const refusal = (status: number, type: string, code = 'none') => ({
  status,
  body: { error: { type, code, message: 'No.' } },
});

/** Scripts the responses to payment calls of this method. The last one repeats. */
function answersTo(method: string, ...answers: readonly (ApiAnswer | 'never')[]): void {
  const left = [...answers];
  stripe.instead = (call) => {
    if (call.method !== method || !call.path.startsWith('/v1/payment_intents')) return undefined;
    return left.length > 1 ? left.shift() : left[0];
  };
}

/** Two calls of up to eight seconds each, and the pause between them. */
const IN_TIME_MS = 40_000;

/** As in dashboard/web/api/api.ts. */
const PAGE_WAITS_MS = 20_000;

describe('an automatic top-up', () => {
  test('whose charge gets no response times out, and is found later without a second charge', {
    timeout: 2 * IN_TIME_MS,
  }, async () => {
    answersTo('POST', 'never');
    const begun = performance.now();
    await expect(round()).rejects.toThrow();
    expect(performance.now() - begun).toBeLessThan(IN_TIME_MS);
    expect([stripe.world.charges, await balance(), await states()]).toEqual([1, 0, ['open']]);
    stripe.instead = undefined;
    await round();
    expect([stripe.world.charges, await balance()]).toEqual([1, 0]);
    await laterRound();
    expect([stripe.world.charges, await balance(), await states()]).toEqual([1, 20, ['paid']]);
  });

  test.each([
    ['has status 500', [AWAY]],
    ['reports an invalid request', [refusal(400, 'invalid_request_error')]],
    ['reports a declined card', [refusal(402, 'card_error')]],
    ['says that there is none', [refusal(404, 'invalid_request_error', 'resource_missing')]],
  ] as const)(
    'that was charged does not fail if the response about the payment %s',
    {
      timeout: IN_TIME_MS,
    },
    async (_, answers) => {
      answersTo('GET', ...answers);
      await expect(round()).rejects.toThrow();
      expect([stripe.world.charges, await balance(), await states()]).toEqual([1, 0, ['open']]);
      expect((await view()).stopped).toBeUndefined();
      stripe.instead = undefined;
      await laterRound();
      expect([stripe.world.charges, await balance(), await states()]).toEqual([1, 20, ['paid']]);
    },
  );
});

test('a payment that cannot begin is refused while the page still waits, with the reason', {
  timeout: IN_TIME_MS,
}, async () => {
  stripe.instead = () => 'never';
  const begun = performance.now();
  const asked = await scene.owner.send('POST', at('top-ups'), { amountUsd: 10 });
  expect(performance.now() - begun).toBeLessThan(PAGE_WAITS_MS);
  stripe.instead = undefined;
  expect([asked.status, asked.body.message]).toEqual([503, expect.stringContaining('Nothing was paid.')]);
  expect(await states()).toEqual(['failed']);
});

test('an event whose payment Stripe does not know is received, and logged for the operator', async () => {
  const error = vi.spyOn(log, 'error');
  const object = { id: 'pi_of_another_account' };
  const payload = JSON.stringify({ id: 'evt_1', object: 'event', type: 'payment_intent.succeeded', data: { object } });
  const { webhooks } = new Stripe('sk_test_signer');
  const signature = webhooks.generateTestHeaderString({ payload, secret: stripe.config.webhookSecret });
  const deps = { database: dashboard.database, nowMs: () => Date.now(), log };
  expect(await takeStripeEvent(stripe.config, deps, Buffer.from(payload), signature)).toBe('received');
  const about = expect.objectContaining({ event: 'evt_1' });
  expect(error.mock.calls).toEqual([[about, expect.stringContaining('is the secret key of the same account?')]]);
});

import { Stripe } from 'stripe';
import { expect, test } from 'vitest';
import { readPayment, topUpOfPayment } from './read-payment.ts';

/** A client to which Stripe tells this payment, without refunds and disputes. */
function telling(payment: object) {
  const list = { object: 'list', data: [], has_more: false };
  const httpClient = Stripe.createFetchHttpClient(async (url) =>
    Response.json(String(url).includes('/payment_intents') ? payment : list),
  );
  return new Stripe('sk_test_1', { httpClient });
}

const PAYMENT = { id: 'pi_1', amount: 1000, currency: 'usd', status: 'processing' };

test.each([
  ['left out', {}],
  ['null', { metadata: null, last_payment_error: null, latest_charge: null }],
])('a payment whose optional fields are %s is read, and is of another program', async (_, fields) => {
  const stripe = telling({ ...PAYMENT, ...fields });
  expect(await topUpOfPayment(stripe, 'pi_1')).toBeUndefined();
  expect(await readPayment(stripe, 'pi_1')).toMatchObject({ topUpId: '', organizationId: '' });
});

const AUTOMATIC = { ...PAYMENT, metadata: { gateway_automatic: 'true' } };
const declined = (message?: null) => ({ status: 'requires_payment_method', last_payment_error: { message } });

test.each([
  ['is on its way without an error', {}, { kind: 'open' }],
  ['failed without a message', declined(), { kind: 'failed', reason: 'The card was declined.' }],
  ['failed with a message of null', declined(null), { kind: 'failed', reason: 'The card was declined.' }],
])('an automatic payment that %s', async (_, fields, outcome) => {
  expect((await readPayment(telling({ ...AUTOMATIC, ...fields }), 'pi_1')).outcome).toEqual(outcome);
});

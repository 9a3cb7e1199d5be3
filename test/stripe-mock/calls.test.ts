import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { newId } from '#core/ids.ts';
import { createLog } from '#core/log/log.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { topUpAutomatically } from '#dashboard/server/payments/automatic.ts';
import { beginSavingCard, beginTopUp } from '#dashboard/server/payments/checkout.ts';
import { settleForgottenPayments } from '#dashboard/server/payments/forgotten-payments.ts';
import { readPayment } from '#dashboard/server/payments/read-payment.ts';
import { stripeClient } from '#dashboard/server/payments/stripe-client.ts';
import { openPaymentAccount, saveCard, setAutomaticTopUp } from '#database/payments/payment-accounts.ts';
import { listTopUps } from '#database/payments/top-ups.ts';
import { BY } from '../harness/database.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { requirement } from '../harness/requirement.ts';
import { withStore } from '../harness/with-store.ts';

/**
 * Sends every Stripe call of the dashboard to stripe-mock. Like Stripe, it refuses unknown
 * endpoints, unknown parameters and values of the wrong type.
 */
const PROGRAM = join(REPOSITORY, '.cache/stripe-mock/stripe-mock');
const MISSING = existsSync(PROGRAM)
  ? undefined
  : 'no stripe-mock in .cache/stripe-mock: node scripts/setup.mjs --stripe-mock builds it';

const TRY_EVERY_MS = 100;
const MOST_TRIES = 600;

requirement(MISSING, () => {
  let mock: ChildProcess;
  let config: StripeConfig;
  const db = withStore();
  let database: ReturnType<typeof openDatabase>;
  let organizationId: string;

  beforeAll(async () => {
    const port = await freePort();
    mock = spawn(PROGRAM, ['-http-port', String(port), '-strict-version-check=false'], { stdio: 'ignore' });
    const apiBase = new URL(`http://127.0.0.1:${port}`);
    config = {
      ...{ secretKey: 'sk_test_1', webhookSecret: 'whsec_1', currency: 'usd' as const, apiBase },
      ...{ presetsUsd: [10], leastUsd: 5, mostUsd: 100, invoices: true },
    };
    await untilAnswering(apiBase);
    database = openDatabase(db.url, { info() {}, warn() {}, error() {} });
    organizationId = newId('org', Date.now());
    const settings = { id: organizationId, name: 'Acme', ...DEFAULT_RULES };
    await db.store.administration.createOrganization(settings, BY);
  });

  afterAll(async () => {
    const ended = mock && once(mock, 'exit');
    mock?.kill();
    await ended;
    await database?.end();
  });

  const work = () => ({
    ...{ database, organizationId, organizationName: 'Acme', userId: newId('usr', 1), email: 'owner@acme.example' },
    ...{ origin: 'http://127.0.0.1:8081', nowMs: Date.now() },
    billing: { legalName: 'Acme Ltd', billingAddress: '1 Road', taxId: 'X1', billingEmail: 'a@acme.example' },
  });

  test('an unknown parameter is refused', async () => {
    const unknown = { customer: 'cus_1', tip: 5 } as { customer: string };
    const stripe = await stripeClient(config);
    await expect(stripe.checkout.sessions.create(unknown)).rejects.toThrow(/additional properties/);
  });

  test('a payment opens a Checkout session', async () => {
    const begun = await beginTopUp(config, work(), 10);
    expect(begun).toEqual({ id: expect.any(String), url: expect.any(String) });
    expect(await listTopUps(database, { organizationId, limit: 5 })).toMatchObject([
      { state: 'open', amountCents: 1000n },
    ]);
  });

  test('a Checkout session saves a card of a customer', async () => {
    expect(await beginSavingCard(config, work())).toEqual({ url: expect.any(String) });
  });

  test('a payment is read with its charge, refunds and disputes', async () => {
    const stripe = await stripeClient(config);
    const facts = await readPayment(stripe, 'pi_123');
    expect(facts).toMatchObject({ paymentIntentId: expect.stringMatching(/^pi_/), currency: 'usd' });
    expect(facts.reversals.map(({ kind }) => kind).sort()).toEqual(['dispute', 'refund']);
    const session = await stripe.checkout.sessions.retrieve('cs_123', {
      expand: ['setup_intent.payment_method'],
    });
    expect(session.object).toBe('checkout.session');
  });

  test('a saved card is charged', async () => {
    const { customerId } = await openPaymentAccount(database, organizationId, 'cus_123');
    await saveCard(database, { customerId, paymentMethodId: 'pm_123', card: 'visa 4242', savedAtMs: Date.now() });
    const settings = { belowNanoUsd: 5_000_000_000n, amountCents: 1000n, dailyCents: 1000n };
    expect(await setAutomaticTopUp(database, organizationId, settings, BY)).toBe(true);
    await topUpAutomatically(config, { database, nowMs: () => Date.now(), log: createLog('silent') });
    const [automatic] = await listTopUps(database, { organizationId, limit: 1 });
    // stripe-mock returns a payment of another top-up, so this one stays open. No failure means
    // that the call was not refused.
    expect(automatic).toMatchObject({ automatic: true, state: 'open' });
    expect(automatic?.failure).toBeUndefined();
  });

  test('payments, refunds and disputes of the last days are compared with the database', async () => {
    const stripe = await stripeClient(config);
    const deps = { stripe, database, nowMs: () => Date.now(), log: createLog('silent') };
    expect(await settleForgottenPayments(deps)).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('the payments of a customer are searched for one whose response was lost', async () => {
    await setAutomaticTopUp(database, organizationId, undefined, BY);
    await database.query("update top_ups set asked_at = asked_at - interval '2 minutes' where automatic");
    await topUpAutomatically(config, { database, nowMs: () => Date.now(), log: createLog('silent') });
    const [automatic] = await listTopUps(database, { organizationId, limit: 1 });
    expect(automatic).toMatchObject({ state: 'failed', failure: 'Automatic top-up was turned off.' });
  });
});

async function untilAnswering(apiBase: URL): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const answers = await fetch(apiBase).then(
      (response) => response.arrayBuffer().then(() => true),
      () => false,
    );
    if (answers) return;
    await sleep(TRY_EVERY_MS);
  }
  throw new Error('stripe-mock does not answer');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

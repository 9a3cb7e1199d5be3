import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { topUpAutomatically } from '#dashboard/server/payments/automatic.ts';
import { followSession } from '#dashboard/server/payments/follow-session.ts';
import { settleFromStripe } from '#dashboard/server/payments/settle.ts';
import { stripeClient } from '#dashboard/server/payments/stripe-client.ts';
import { beginAutomaticTopUps } from '#database/payments/automatic-top-ups.ts';
import { openPaymentAccount, saveCard, setAutomaticTopUp } from '#database/payments/payment-accounts.ts';
import { listTopUps } from '#database/payments/top-ups.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { openAudited } from './audited-database.ts';

/** Payments whose top-up is not in the database, for example after a restore. */
const database = opened(openAudited);
const stripe = opened(startScriptedStripe);
let organizationId: string;
let lines: string[];

beforeEach(async () => {
  organizationId = await database.addOrganization();
  lines = [];
});

const note = (_: object, message: string) => void lines.push(message);
const log = { info: () => {}, warn: note, error: note } as unknown as Log;
const deps = async () => ({ stripe: await stripeClient(stripe.config), database: database.pool, log });
const settle = async (id: string) => settleFromStripe(await deps(), id);
const topUps = async (of = organizationId) => listTopUps(database.pool, { organizationId: of, limit: 9 });
const balance = async (of = organizationId) =>
  Number((await database.administration.organization(of))?.balanceNanoUsd) / 1e9;

const FORGOTTEN = 'a payment at Stripe is for a top-up that the database had forgotten';
const ELSEWHERE = 'a payment at Stripe is of another database or program: nobody is credited for it here';

interface Given {
  readonly metadata?: Record<string, string>;
  readonly amount?: number;
  readonly currency?: string;
}

/** Makes a successful payment at Stripe. Returns its id. */
function paid({ metadata, amount = 1000, currency = 'usd' }: Given = {}): string {
  const payment = stripe.world.addPayment({
    ...{ amount, currency, customer: null },
    metadata: {
      ...{ gateway_top_up: newId('top', Date.now() - 86_400_000), gateway_organization: organizationId },
      ...{ gateway_automatic: 'false', ...metadata },
    },
  });
  stripe.world.succeed(payment);
  return payment.id;
}

describe('a payment whose top-up was lost', () => {
  test('is credited once, also for repeated and concurrent events, and listed with its time', async () => {
    const id = paid();
    await Promise.all([settle(id), settle(id), settle(id), settle(id)]);
    await settle(id);
    expect(await balance()).toBe(10);
    const yesterday = Date.now() - 86_400_000;
    expect(await topUps()).toMatchObject([{ state: 'paid', automatic: false, amountCents: 1000n }]);
    expect(Math.abs(((await topUps())[0]?.createdAtMs ?? 0) - yesterday)).toBeLessThan(3_600_000);
    expect(lines).toContain(FORGOTTEN);
    expect((await database.administration.verifyLedger()).differences).toEqual([]);
  });

  test('is credited less its refund and dispute', async () => {
    const id = paid();
    const refund = stripe.world.refund(id, 300);
    stripe.world.dispute(id, 200);
    await settle(id);
    expect([await balance(), (await topUps())[0]?.returnedCents]).toEqual([5, 500n]);
    stripe.world.failRefund(refund);
    await settle(id);
    expect(await balance()).toBe(8);
  });

  test('in Checkout is credited by the event of its session', async () => {
    const topUpId = newId('top', Date.now());
    const metadata = { gateway_top_up: topUpId, gateway_organization: organizationId, gateway_automatic: 'false' };
    const session = stripe.world.addSession({
      ...{ mode: 'payment', customer: null, client_reference_id: topUpId },
      ...{ success_url: 'https://dashboard.example', cancel_url: 'https://dashboard.example' },
      asked: { amount: 1000, currency: 'usd', metadata },
    });
    stripe.world.complete(session.id);
    await followSession(await deps(), session.id);
    expect([await balance(), (await topUps()).map(({ state }) => state)]).toEqual([10, ['paid']]);
  });

  test('is credited although another automatic one is open, and leaves that one open', async () => {
    const open = newId('top', Date.now());
    await database.pool.query(
      'insert into top_ups (id, organization_id, automatic, amount_cents) values ($1, $2, true, 2000)',
      [open, organizationId],
    );
    await settle(paid({ metadata: { gateway_automatic: 'true' } }));
    expect(await balance()).toBe(10);
    expect((await topUps()).map(({ state, automatic }) => [state, automatic])).toEqual([
      ['open', true],
      ['paid', true],
    ]);
  });

  test('and is not paid yet is kept open with its payment, so that no other one is requested', async () => {
    const topUpId = newId('top', Date.now());
    const metadata = { gateway_top_up: topUpId, gateway_organization: organizationId, gateway_automatic: 'true' };
    const payment = stripe.world.addPayment({ amount: 1000, currency: 'usd', metadata, customer: null });
    await settle(payment.id);
    const rows = await database.pool.query('select state, payment_intent_id as pi from top_ups where id = $1', [
      topUpId,
    ]);
    expect([rows.rows, await balance()]).toEqual([[{ state: 'open', pi: payment.id }], 0]);
    stripe.world.succeed(payment);
    await settle(payment.id);
    expect(await balance()).toBe(10);
  });

  test.each([
    ['in another currency', () => paid({ currency: 'eur' }), 'The payment is in another currency.'],
    [
      'of which Stripe took another amount',
      () => {
        const id = paid();
        const payment = stripe.world.payments.get(id);
        if (payment) payment.amount_received = 999;
        return id;
      },
      'The payment is of another amount.',
    ],
  ])('%s is refused', async (_, pay, failure) => {
    await settle(pay());
    expect([await balance(), await topUps()]).toMatchObject([0, [{ state: 'refused', failure }]]);
    expect(lines).toContain('a payment does not match its top-up');
  });
});

describe('only a log line follows from a payment', () => {
  test.each<[string, Record<string, string>, number?]>([
    ['of an unknown organization', { gateway_organization: newId('org', 1) }],
    ['that names no organization', { gateway_organization: '' }],
    ['that names something else', { gateway_organization: "' or true --" }],
    ['without the metadata of a dashboard', { gateway_automatic: '' }],
    ['above any top-up', {}, 99_999_901],
  ])('%s', async (_, metadata, amount = 1000) => {
    await settle(paid({ metadata, amount }));
    expect([await balance(), await topUps(), lines]).toEqual([0, [], [ELSEWHERE]]);
  });

  test('whose payment was booked for another organization by hand', async () => {
    const other = await database.addOrganization();
    const id = paid();
    await database.administration.credit(other, { amountNanoUsd: 1n, reference: id }, { actor: 'ops' });
    await settle(id);
    expect([await balance(), (await topUps()).map(({ state }) => state)]).toEqual([0, ['refused']]);
  });
});

describe('a changed ledger epoch', () => {
  // Payments are compared once a day, so only a test lets a day pass.
  const startMs = Date.now();
  const round = (days = 0) =>
    topUpAutomatically(stripe.config, { database: database.pool, nowMs: () => startMs + days * 86_400_000, log });
  const states = async () => (await topUps()).map(({ state }) => state);

  beforeEach(async () => {
    stripe.world.charges = 0;
    await sql(database.url, 'update payment_accounts set automatic = false');
    await sql(database.url, "update top_ups set state = 'expired' where state = 'open'");
    const { customerId } = await openPaymentAccount(database.pool, organizationId, stripe.world.id('cus'));
    const card = { paymentMethodId: 'pm_1', card: 'visa 4242', savedAtMs: Date.now() };
    await saveCard(database.pool, { customerId, ...card });
    const settings = { belowNanoUsd: 5_000_000_000n, amountCents: 2000n, dailyCents: 9000n };
    await setAutomaticTopUp(database.pool, organizationId, settings, BY);
    await round();
    expect([stripe.world.charges, await balance()]).toEqual([1, 20]);
  });

  /** Restores the state before the payment, with the open top-up if `keep`. */
  async function restore(keep = false): Promise<void> {
    const of = `organization_id = '${organizationId}'`;
    await sql(
      database.url,
      `delete from top_up_reversals where top_up_id in (select id from top_ups where ${of});
       ${
         keep
           ? `update top_ups set state = 'open', payment_intent_id = null, asked_at = null, reads_begun = 0, reads_applied = 0,
               created_at = now() - interval '2 days' where ${of}`
           : `delete from top_ups where ${of}`
       };
       delete from credit_references where ${of};
       alter table ledger_entries disable trigger user;
       delete from ledger_entries where ${of};
       alter table ledger_entries enable trigger user;
       update accounts set sequence = 0, balance_nano_usd = 0, total_credits_nano_usd = 0 where ${of};
       update ledger_state set epoch = gen_random_uuid()`,
    );
    expect(await balance()).toBe(0);
  }

  test.each([
    ['was not there', false],
    ['had begun days ago', true],
  ])('does not charge a card twice for a top-up that %s, and credits it', async (_, keep) => {
    await restore(keep);
    await Promise.all([round(), round()]);
    await round();
    expect([stripe.world.charges, await balance(), await states()]).toEqual([1, 20, ['paid']]);
  });

  test.each<[what: string, take: (id: string) => void, taken: number, giveBack: (id: string) => void]>([
    [
      'a dispute that was won',
      (id) => void stripe.world.dispute(id, 2000),
      0,
      (id) => {
        for (const [dispute, { payment_intent: of }] of stripe.world.disputes)
          if (of === id) stripe.world.decide(dispute, 'won');
      },
    ],
    [
      'a refund that failed',
      (id) => void stripe.world.refund(id, 500),
      15,
      (id) => {
        for (const [refund, { payment_intent: of }] of stripe.world.refunds)
          if (of === id) stripe.world.failRefund(refund);
      },
    ],
  ])('credits the money of %s during the lost time', async (_, take, taken, giveBack) => {
    const text = `select payment_intent_id as id from top_ups where organization_id = '${organizationId}'`;
    const [{ id } = { id: '' }] = await sql<{ id: string }>(database.url, text);
    take(id);
    await settle(id);
    expect(await balance()).toBe(taken);
    giveBack(id);
    // Turns off automatic top-ups, because the balance is below the threshold.
    await sql(database.url, 'update payment_accounts set automatic = false');
    await sql(database.url, 'update ledger_state set epoch = gen_random_uuid()');
    await round();
    expect(await balance()).toBe(20);
  });

  test('is not needed for a dispute without an event, which is found on another day', async () => {
    const text = `select payment_intent_id as id from top_ups where organization_id = '${organizationId}'`;
    const [{ id } = { id: '' }] = await sql<{ id: string }>(database.url, text);
    stripe.world.dispute(id, 2000);
    await round();
    expect(await balance()).toBe(20);
    await round(1);
    expect([stripe.world.charges, await balance(), await states()]).toEqual([1, 0, ['paid']]);
    const calls = stripe.calls.length;
    await round(1);
    expect(stripe.calls.length).toBe(calls);
  });

  test('begins no automatic top-up before Stripe has responded', async () => {
    await restore();
    stripe.away = true;
    await expect(round()).rejects.toThrow();
    stripe.away = false;
    expect(await states()).toEqual([]);
    await beginAutomaticTopUps(database.pool, () => newId('top', Date.now()), randomUUID());
    expect(await states()).toEqual([]);
    await round();
    expect([stripe.world.charges, await balance()]).toEqual([1, 20]);
  });

  test('restores more than a page of payments, and refunds of known ones', async () => {
    const [known] = (
      await database.pool.query('select payment_intent_id as id from top_ups where organization_id = $1', [
        organizationId,
      ])
    ).rows as { id: string }[];
    for (let made = 0; made < 120; made++) paid({ amount: 100 });
    paid({ metadata: { gateway_organization: newId('org', 1) } });
    stripe.world.refund(known?.id ?? '', 500);
    const before = stripe.calls.length;
    await round();
    expect([await balance(), stripe.calls.length - before]).toEqual([20, 0]);
    await sql(database.url, 'update ledger_state set epoch = gen_random_uuid()');
    await round();
    expect(await balance()).toBe(20 + 120 - 5);
    expect((await database.administration.verifyLedger()).differences).toEqual([]);
    const after = stripe.calls.length;
    await round();
    expect(stripe.calls.length).toBe(after);
  });
});

test('a payment of another program at the same account is ignored silently', async () => {
  await settle(paid({ metadata: { gateway_top_up: 'order-7' } }));
  expect([await balance(), lines]).toEqual([0, []]);
});

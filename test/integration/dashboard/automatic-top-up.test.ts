import { beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '#core/log/log.ts';
import { topUpAutomatically } from '#dashboard/server/payments/automatic.ts';
import { changeAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { BY, sql } from '../../harness/database.ts';
import { untilDayIsYoung } from '../../harness/young-window.ts';
import { paymentsScene } from './payments-scene.ts';

const scene = paymentsScene();
const { stripe, dashboard, at, view, states, balance, saveCard } = scene;

beforeEach(async () => {
  stripe.world.charges = 0;
  stripe.world.declines = undefined;
  // A round charges every organization, including those of earlier tests.
  await sql(dashboard.databaseUrl, 'update payment_accounts set automatic = false');
});

const LOG = createLog('silent');
const SETTINGS = { belowUsd: 5, amountUsd: 20, dailyUsd: 40 };
const set = (settings: object | undefined = SETTINGS) => scene.owner.send('PUT', at('automatic-top-up'), { settings });
/** One round of top-ups in a dashboard process. */
const round = () =>
  topUpAutomatically(stripe.config, {
    database: dashboard.database,
    nowMs: () => Date.now(),
    log: LOG,
  });
const credit = (usd: bigint) =>
  dashboard.administration.credit(scene.organizationId, { amountNanoUsd: usd * 1_000_000_000n }, BY);

async function setUp(): Promise<void> {
  // The first round of a day compares payments with Stripe, also when a test makes that impossible.
  await round();
  await saveCard();
  await set();
}
async function roundWithoutStripe(): Promise<void> {
  stripe.away = true;
  await expect(round()).rejects.toThrow();
  stripe.away = false;
}

const alertOwners = () =>
  changeAlertSettings(
    dashboard.database,
    scene.organizationId,
    () => ({ ...NEW_ALERTS, topUps: true, emails: ['o@example.com'] }),
    BY,
  );

async function failedTopUps(): Promise<unknown[]> {
  const query = `select content from outbox where organization_id = '${scene.organizationId}' and kind = 'top_up.failed'`;
  return (await sql<{ content: unknown }>(dashboard.databaseUrl, query)).map(({ content }) => content);
}

describe('automatic top-up', () => {
  test('needs a saved card, valid settings, and a recently entered password', async () => {
    expect([(await set()).status, (await view()).automatic]).toEqual([409, undefined]);
    await saveCard();
    expect((await view()).card).toBe('visa 4242');
    for (const wrong of [{ amountUsd: 4 }, { amountUsd: 5001 }, { dailyUsd: 19 }, { belowUsd: 0 }])
      expect((await set({ ...SETTINGS, ...wrong })).status).toBe(400);
    await sql(dashboard.databaseUrl, "update sessions set password_at = now() - interval '1 hour'");
    expect((await set()).body.problem).toBe('password_needed');
    await sql(dashboard.databaseUrl, 'update sessions set password_at = now()');
    expect([(await set()).status, (await view()).automatic]).toEqual([200, SETTINGS]);
  });

  test('charges the card below the threshold, once for all processes, within the daily limit', async () => {
    await untilDayIsYoung();
    await setUp();
    await Promise.all([round(), round(), round()]);
    expect([await balance(), stripe.world.charges]).toEqual([20, 1]);
    await stripe.deliverAll();
    await round();
    expect([await balance(), stripe.world.charges]).toEqual([20, 1]);
    await credit(-16n);
    await Promise.all([round(), round()]);
    expect([await balance(), stripe.world.charges]).toEqual([24, 2]);
    await credit(-20n);
    await round();
    expect([await balance(), stripe.world.charges]).toEqual([4, 2]);
    expect(await states()).toEqual(['paid', 'paid']);
  });

  test('that the bank declines is shown, and not retried before a person acts', async () => {
    await setUp();
    stripe.world.declines = 'Your card has insufficient funds.';
    await alertOwners();
    await round();
    await stripe.deliverAll();
    await round();
    expect([await balance(), stripe.world.charges, await states()]).toEqual([0, 1, ['failed']]);
    expect(await failedTopUps()).toEqual([{ amount_nano_usd: '20000000000', automatic: true }]);
    expect((await view()).stopped).toEqual({ atMs: expect.any(Number), reason: 'Your card has insufficient funds.' });
    stripe.world.declines = undefined;
    await set();
    // Late events of the failure, which a person has already dealt with, do not stop it again.
    for (const event of stripe.world.events.filter(({ type }) => type === 'payment_intent.payment_failed'))
      await stripe.deliver(event);
    await round();
    expect([await balance(), stripe.world.charges, (await view()).stopped]).toEqual([20, 2, undefined]);
  });

  test('whose response was lost is requested again with the same idempotency key, and charged once', async () => {
    await setUp();
    await roundWithoutStripe();
    await round();
    expect(stripe.world.charges).toBe(0);
    const asked = stripe.calls.filter(({ method, path }) => method === 'POST' && path === '/v1/payment_intents');
    await sql(dashboard.databaseUrl, "update top_ups set asked_at = asked_at - interval '2 minutes'");
    await Promise.all([round(), round()]);
    expect([await balance(), stripe.world.charges]).toEqual([20, 1]);
    const again = stripe.calls.filter(({ method, path }) => method === 'POST' && path === '/v1/payment_intents');
    expect(again.length).toBeGreaterThan(asked.length);
    const [{ id } = { id: '' }] = (await view()).topUps;
    expect(new Set(again.slice(-2).map(({ idempotencyKey }) => idempotencyKey))).toEqual(new Set([id]));
  });

  test('that Stripe did not answer for a day fails, and is credited if it was paid after all', async () => {
    await setUp();
    await roundWithoutStripe();
    await alertOwners();
    await sql(dashboard.databaseUrl, "update top_ups set created_at = created_at - interval '24 hours'");
    await sql(dashboard.databaseUrl, "update top_ups set asked_at = asked_at - interval '2 minutes'");
    await round();
    expect(await failedTopUps()).toHaveLength(1);
    expect([await states(), (await view()).stopped?.reason]).toEqual([['failed'], 'Stripe did not answer for a day.']);
    const metadata = { gateway_top_up: (await view()).topUps[0]?.id ?? '', gateway_organization: scene.organizationId };
    stripe.world.succeed(stripe.world.addPayment({ amount: 2000, currency: 'usd', metadata, customer: null }));
    await stripe.deliverAll();
    expect([await balance(), await states()]).toEqual([20, ['paid']]);
  });

  test.each([
    ['a stop', () => sql(dashboard.databaseUrl, 'update payment_accounts set stopped_at = now()')],
    ['a suspension', () => dashboard.administration.setSuspended(scene.organizationId, true, BY)],
    ['the end of the settings', () => scene.owner.send('PUT', at('automatic-top-up'), {})],
  ])('that Stripe did not answer is not requested again after %s', async (_, end) => {
    await setUp();
    await roundWithoutStripe();
    await end();
    // Stripe may have charged the card. Only a round that looks up the payment can tell.
    expect(await states()).toEqual(['open']);
    for (let rounds = 0; rounds < 2; rounds++) {
      await sql(dashboard.databaseUrl, "update top_ups set asked_at = asked_at - interval '2 minutes'");
      await round();
      expect([stripe.world.charges, await states()]).toEqual([0, ['failed']]);
    }
  });

  test('stops after a refund, and when the card is removed', async () => {
    await setUp();
    await round();
    const [payment] = [...stripe.world.payments.keys()].slice(-1);
    stripe.world.refund(payment ?? '', 2000);
    await stripe.deliverAll();
    await round();
    expect([await balance(), stripe.world.charges]).toEqual([0, 1]);
    expect((await view()).stopped?.reason).toBe('A payment was refunded or disputed.');
    await scene.owner.send('DELETE', at('card'));
    await round();
    expect([stripe.world.charges, (await view()).card, (await view()).automatic]).toEqual([1, undefined, undefined]);
    for (const event of stripe.world.events.filter(({ type }) => type === 'checkout.session.completed'))
      await stripe.deliver(event);
    expect((await view()).card).toBeUndefined();
  });

  test('charges no card that was removed, even if an older backup of the database is restored', async () => {
    await setUp();
    const row = `payment_accounts where organization_id = '${scene.organizationId}'`;
    await sql(dashboard.databaseUrl, `create table backup as select * from ${row}`);
    await scene.owner.send('DELETE', at('card'));
    await sql(dashboard.databaseUrl, `delete from ${row}; insert into payment_accounts select * from backup`);
    await sql(dashboard.databaseUrl, 'drop table backup; update ledger_state set epoch = gen_random_uuid()');
    await round();
    expect([stripe.world.charges, await balance(), (await view()).stopped?.reason]).toEqual([
      0,
      0,
      'The payment method is not attached to a customer.',
    ]);
  });

  test('accepts a new card if Stripe does not know the customer, as after a change from test mode', async () => {
    await setUp();
    stripe.world.customers.clear();
    await saveCard();
    expect([(await view()).card, (await view()).automatic]).toEqual(['visa 4242', undefined]);
    await set();
    await round();
    expect(await balance()).toBe(20);
  });

  test('is audited when it is set up, and charges no suspended organization', async () => {
    await setUp();
    await dashboard.administration.setSuspended(scene.organizationId, true, BY);
    await round();
    expect(stripe.world.charges).toBe(0);
    const changed = await sql<{ changes: object }>(
      dashboard.databaseUrl,
      `select actor, changes from audit_log where organization_id = '${scene.organizationId}' and action = 'organization.automatic_top_up'
       order by id`,
    );
    expect(changed).toEqual([
      { actor: 'Stripe', changes: { card: [null, 'visa 4242'] } },
      {
        actor: expect.stringContaining('@'),
        changes: {
          belowNanoUsd: [null, '5000000000'],
          amountNanoUsd: [null, '20000000000'],
          dailyNanoUsd: [null, '40000000000'],
        },
      },
    ]);
  });
});

import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { createLog } from '#core/log/log.ts';
import { topUpAutomatically } from '#dashboard/server/payments/automatic.ts';
import { changeAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { beginAutomaticTopUps } from '#database/payments/automatic-top-ups.ts';
import {
  findPaymentAccount,
  forgetCard,
  openPaymentAccount,
  saveCard,
  setAutomaticTopUp,
} from '#database/payments/payment-accounts.ts';
import { listTopUps } from '#database/payments/top-ups.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { openAudited } from './audited-database.ts';

/** Charges of a saved card whose response is lost, and for which no event arrives. */
const database = opened(openAudited);
const stripe = opened(startScriptedStripe);
let organizationId: string;
let customerId: string;

beforeEach(async () => {
  stripe.world.charges = 0;
  // A round charges every organization, including those of earlier tests.
  await sql(database.url, 'update payment_accounts set automatic = false');
  await sql(database.url, "update top_ups set state = 'expired' where state = 'open'");
  organizationId = await database.addOrganization();
  ({ customerId } = await openPaymentAccount(database.pool, organizationId, stripe.world.id('cus')));
  await keepCard();
  await turnOn();
  await changeAlertSettings(database.pool, organizationId, () => ({ ...NEW_ALERTS, emails: ['o@example.com'] }), BY);
});

let cards = 0;
/** Each has another id, because on a new day a round detaches the former cards of earlier tests. */
function keepCard() {
  const savedAtMs = Date.now() - 60_000 + ++cards;
  return saveCard(database.pool, { customerId, paymentMethodId: stripe.world.id('pm'), card: 'visa 4242', savedAtMs });
}
const SETTINGS = { belowNanoUsd: 5_000_000_000n, amountCents: 2000n, dailyCents: 4000n };
const turnOn = () => setAutomaticTopUp(database.pool, organizationId, SETTINGS, BY);
const turnOff = () => setAutomaticTopUp(database.pool, organizationId, undefined, BY);
const suspend = (suspended: boolean) => database.administration.setSuspended(organizationId, suspended, BY);
const age = (column: string, by: string) =>
  sql(
    database.url,
    `update top_ups set ${column} = ${column} - interval '${by}' where organization_id = '${organizationId}'`,
  );
const round = () =>
  topUpAutomatically(stripe.config, { database: database.pool, nowMs: Date.now, log: createLog('silent') });
async function laterRound(): Promise<void> {
  await age('asked_at', '2 minutes');
  await round();
}

const balance = async () => Number((await database.administration.organization(organizationId))?.balanceNanoUsd) / 1e9;
const topUps = async () =>
  (await listTopUps(database.pool, { organizationId, limit: 9 })).map(({ state, failure }) => [state, failure]);
const stopped = async () => (await findPaymentAccount(database.pool, organizationId))?.stopped?.reason;
const alerts = async () =>
  (await sql(database.url, `select from outbox where organization_id = '${organizationId}' and kind = 'top_up.failed'`))
    .length;

const isCharge = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === 'POST' && path === '/v1/payment_intents';

/** A round in which Stripe does not process the charge. */
async function unansweredRound(): Promise<void> {
  stripe.instead = (call) =>
    isCharge(call) ? { status: 500, body: { error: { type: 'api_error', message: 'Away' } } } : undefined;
  await expect(round()).rejects.toThrow();
  stripe.instead = undefined;
}

async function chargedWithoutAnswer(): Promise<void> {
  await unansweredRound();
  const [topUp] = await listTopUps(database.pool, { organizationId, limit: 1 });
  const metadata = {
    ...{ gateway_top_up: topUp?.id ?? '', gateway_organization: organizationId },
    gateway_automatic: 'true',
  };
  stripe.world.succeed(stripe.world.addPayment({ amount: 2000, currency: 'usd', metadata, customer: customerId }));
}

describe('an automatic top-up that was charged is credited', () => {
  test('although the card was replaced meanwhile, without a charge of the new card', async () => {
    stripe.instead = (call) => (isCharge(call) ? 'lost' : undefined);
    await expect(round()).rejects.toThrow();
    stripe.instead = undefined;
    await keepCard();
    await laterRound();
    await laterRound();
    expect([stripe.world.charges, await balance(), await topUps()]).toEqual([1, 20, [['paid', undefined]]]);
    expect(await alerts()).toBe(0);
  });

  test.each([
    ['automatic top-up was turned off', () => turnOff()],
    ['the card was removed', () => forgetCard(database.pool, organizationId, BY)],
    ['the organization was suspended', () => suspend(true)],
    ['a day has passed', () => age('created_at', '24 hours')],
    [
      'the customer has 150 newer payments',
      async () => {
        for (let made = 0; made < 150; made++)
          stripe.world.addPayment({ amount: 100, currency: 'usd', metadata: {}, customer: customerId });
        await turnOff();
      },
    ],
  ])('although %s meanwhile', async (_, meanwhile) => {
    await chargedWithoutAnswer();
    await meanwhile();
    await round();
    expect(await topUps()).toEqual([['open', undefined]]);
    await laterRound();
    await laterRound();
    expect([await balance(), await topUps(), stripe.world.charges]).toEqual([20, [['paid', undefined]], 0]);
    expect([await alerts(), await stopped()]).toEqual([0, undefined]);
  });

  test('although Stripe was unreachable when the payment was looked up', async () => {
    await chargedWithoutAnswer();
    await turnOff();
    stripe.away = true;
    await expect(laterRound()).rejects.toThrow();
    stripe.away = false;
    expect(await topUps()).toEqual([['open', undefined]]);
    await laterRound();
    expect([await balance(), await topUps()]).toEqual([20, [['paid', undefined]]]);
  });
});

describe('an automatic top-up that was not charged ends with its reason', () => {
  test.each([
    ['Automatic top-up was turned off.', () => turnOff()],
    ['The card was removed.', () => forgetCard(database.pool, organizationId, BY)],
    ['The organization was suspended.', () => suspend(true)],
  ])('%s', async (reason, meanwhile) => {
    await unansweredRound();
    await meanwhile();
    expect(await topUps()).toEqual([['open', undefined]]);
    await age('created_at', '24 hours');
    await laterRound();
    expect([await topUps(), stripe.world.charges]).toEqual([[['failed', reason]], 0]);
    expect([await alerts(), await stopped()]).toEqual([0, undefined]);
  });

  test('if Stripe no longer has the customer', async () => {
    await unansweredRound();
    await turnOff();
    const error = { type: 'invalid_request_error', code: 'resource_missing', message: 'No such customer' };
    stripe.instead = ({ path }) =>
      path.includes(`customer=${customerId}`) ? { status: 400, body: { error } } : undefined;
    await laterRound();
    stripe.instead = undefined;
    expect(await topUps()).toEqual([['failed', 'Automatic top-up was turned off.']]);
  });

  test('if the card was replaced, and stops automatic top-up with an alert', async () => {
    await unansweredRound();
    const error = { type: 'idempotency_error', message: 'Keys for idempotent requests …' };
    stripe.instead = (call) => (isCharge(call) ? { status: 400, body: { error } } : undefined);
    await laterRound();
    stripe.instead = undefined;
    const reason = 'Nothing was charged: the card was replaced before Stripe answered.';
    expect([await topUps(), await stopped(), await alerts()]).toEqual([[['failed', reason]], reason, 1]);
  });

  test('if Stripe did not respond for a day', async () => {
    await unansweredRound();
    await age('created_at', '24 hours');
    await laterRound();
    const reason = 'Stripe did not answer for a day.';
    expect([await topUps(), await stopped(), await alerts()]).toEqual([[['failed', reason]], reason, 1]);
  });

  test('if Stripe was not called for most of a day, and the next top-up begins', async () => {
    await unansweredRound();
    await age('created_at', '24 hours');
    await age('asked_at', '20 hours');
    await round();
    await round();
    expect([await balance(), await topUps(), await stopped(), await alerts()]).toEqual([
      20,
      [
        ['paid', undefined],
        ['failed', 'The card was not charged within a day.'],
      ],
      undefined,
      0,
    ]);
  });

  test('at once if Stripe was never called', async () => {
    await beginAutomaticTopUps(database.pool, () => newId('top', Date.now()));
    await turnOff();
    expect(await topUps()).toEqual([['failed', 'Automatic top-up was turned off.']]);
    await turnOn();
    await beginAutomaticTopUps(database.pool, () => newId('top', Date.now()));
    await forgetCard(database.pool, organizationId, BY);
    expect((await topUps())[0]).toEqual(['failed', 'The card was removed.']);
  });
});

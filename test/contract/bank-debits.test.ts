import { beforeEach, expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { createLog } from '#core/log/log.ts';
import { followSession } from '#dashboard/server/payments/follow-session.ts';
import { readOpenPayments } from '#dashboard/server/payments/open-payments.ts';
import { settleFromStripe } from '#dashboard/server/payments/settle.ts';
import { stripeClient } from '#dashboard/server/payments/stripe-client.ts';
import { changeAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { bindSession, createTopUp, listTopUps } from '#database/payments/top-ups.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { openAudited } from './audited-database.ts';

/** A payment in Checkout by a bank debit, which the bank accepts or refuses days later. */
const NO_FUNDS = 'The bank account has insufficient funds.';
const log = createLog('silent');

const database = opened(openAudited);
const stripe = opened(startScriptedStripe);
let organizationId: string;
let topUpId: string;
let session: ReturnType<ScriptedStripe['world']['addSession']>;
let payment: ReturnType<ScriptedStripe['world']['addPayment']>;

beforeEach(async () => {
  organizationId = await database.addOrganization();
  await changeAlertSettings(database.pool, organizationId, () => ({ ...NEW_ALERTS, emails: ['o@example.com'] }), BY);
  topUpId = newId('top', Date.now());
  await createTopUp(database.pool, { id: topUpId, organizationId, amountCents: 1000n, createdBy: 'o@example.com' });
  const metadata = { gateway_top_up: topUpId, gateway_organization: organizationId, gateway_automatic: 'false' };
  session = stripe.world.addSession({
    ...{ mode: 'payment', customer: null, client_reference_id: topUpId },
    ...{ success_url: 'https://dashboard.example', cancel_url: 'https://dashboard.example' },
    asked: { amount: 1000, currency: 'usd', metadata },
  });
  await bindSession(database.pool, topUpId, session.id);
  payment = stripe.world.addPayment({ amount: 1000, currency: 'usd', metadata, customer: null });
  session.payment_intent = payment.id;
});

const deps = async () => ({ stripe: await stripeClient(stripe.config), database: database.pool, log });
const topUp = async () => (await listTopUps(database.pool, { organizationId, limit: 1 }))[0];
const alerts = () =>
  sql(database.url, `select from outbox where organization_id = '${organizationId}' and kind = 'top_up.failed'`);

test('a debit that the bank refuses after Checkout fails, with one alert', async () => {
  session.status = 'complete';
  await followSession(await deps(), session.id);
  expect((await topUp())?.state).toBe('open');
  stripe.world.decline(payment, NO_FUNDS);
  // Handles both events of the refusal.
  await settleFromStripe(await deps(), payment.id);
  await followSession(await deps(), session.id);
  expect(await topUp()).toMatchObject({ state: 'failed', failure: NO_FUNDS });
  await settleFromStripe(await deps(), payment.id);
  await followSession(await deps(), session.id);
  expect([(await topUp())?.state, (await alerts()).length]).toEqual(['failed', 1]);
});

test('a debit that the bank refuses fails without an event', async () => {
  session.status = 'complete';
  stripe.world.decline(payment, NO_FUNDS);
  await sql(database.url, `update top_ups set created_at = now() - interval '4 days' where id = '${topUpId}'`);
  await readOpenPayments(stripe.config, { database: database.pool, log });
  expect([(await topUp())?.state, (await alerts()).length]).toEqual(['failed', 1]);
});

test('a card that is declined in Checkout leaves the payment open for another one', async () => {
  stripe.world.decline(payment, 'Your card was declined.');
  await followSession(await deps(), session.id);
  expect([(await topUp())?.state, (await alerts()).length]).toEqual(['open', 0]);
});

import { beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import { followSession } from '#dashboard/server/payments/follow-session.ts';
import { settleForgottenPayments } from '#dashboard/server/payments/forgotten-payments.ts';
import { stripeClient } from '#dashboard/server/payments/stripe-client.ts';
import { findPaymentAccount, forgetCard, openPaymentAccount } from '#database/payments/payment-accounts.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { openAudited } from './audited-database.ts';

/** Pages at which an owner saves a card, in whatever order they are opened and completed. */
const database = opened(openAudited);
const stripe = opened(startScriptedStripe);
let organizationId: string;
let customer: string;
let lines: string[];
let days = 0;
const log = { warn: (_: object, message: string) => void lines.push(message) } as unknown as Log;

beforeEach(async () => {
  lines = [];
  stripe.world.detached.clear();
  organizationId = await database.addOrganization();
  customer = stripe.world.id('cus');
  await openPaymentAccount(database.pool, organizationId, customer);
});

const openPage = () =>
  stripe.world.addSession({
    ...{ mode: 'setup', customer, client_reference_id: null, success_url: '', cancel_url: '' },
    asked: { amount: 0, currency: 'usd', metadata: {} },
  }).id;
async function completePage(session: string, last4: string): Promise<void> {
  stripe.world.complete(session, { last4 });
  await tellOf(session);
}
const deps = async () => ({ stripe: await stripeClient(stripe.config), database: database.pool, log });
const tellOf = async (session: string) => followSession(await deps(), session);
async function nextDay(): Promise<void> {
  const nowMs = Date.now() + DAY_MS * ++days;
  await settleForgottenPayments({ ...(await deps()), nowMs: () => nowMs });
}
const NOT_DETACHED = 'a former card could not be detached at Stripe';
const methodOf = (session: string) => stripe.world.sessions.get(session)?.setup_intent?.payment_method?.id;
const card = async () => (await findPaymentAccount(database.pool, organizationId))?.card;
async function removeCard(): Promise<void> {
  await forgetCard(database.pool, organizationId, BY);
  // By the clock of this Stripe.
  const set = `card_saved_at = to_timestamp(${stripe.world.nowSeconds()})`;
  await sql(database.url, `update payment_accounts set ${set} where organization_id = '${organizationId}'`);
}

test('of two pages the card that was saved last is kept, whichever page was opened first', async () => {
  const [first, second] = [openPage(), openPage()];
  await completePage(second, '2222');
  await completePage(first, '1111');
  await tellOf(second);
  expect(await card()).toBe('visa 1111');
});

test('a page that was open when the card was removed saves its card, and an older event does not', async () => {
  const old = openPage();
  await completePage(old, '1111');
  const open = openPage();
  await removeCard();
  await tellOf(old);
  expect(await card()).toBeUndefined();
  await completePage(open, '2222');
  expect(await card()).toBe('visa 2222');
});

test('a card that was replaced is detached at Stripe, and the one in use is not', async () => {
  const [first, second] = [openPage(), openPage()];
  await completePage(first, '1111');
  await tellOf(first);
  expect([...stripe.world.detached]).toEqual([]);
  await completePage(second, '2222');
  await tellOf(first);
  await tellOf(second);
  expect([[...stripe.world.detached], lines]).toEqual([[methodOf(first)], []]);
});

test('a card of which Stripe tells after a newer card, or after its removal, is detached at Stripe', async () => {
  const [first, second, third] = [openPage(), openPage(), openPage()];
  stripe.world.complete(first);
  await completePage(second, '2222');
  await tellOf(first);
  stripe.world.complete(third);
  await removeCard();
  await tellOf(third);
  await tellOf(third);
  expect([[...stripe.world.detached], lines]).toEqual([[first, second, third].map(methodOf), []]);
});

test.each([
  ['has no right to', { status: 403, body: { error: { type: 'invalid_request_error', message: 'Not permitted' } } }],
  ['gets no answer about', { status: 500, body: { error: { type: 'api_error', message: 'Away' } } }],
  [
    'is of another account than',
    { status: 404, body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'None' } } },
  ],
])(
  'a card is replaced, with a line in the log, where the key %s the former one, and detached on another day',
  async (_, answer) => {
    const [first, second] = [openPage(), openPage()];
    await completePage(first, '1111');
    stripe.instead = ({ path }) => (path.includes('/detach') ? answer : undefined);
    await completePage(second, '2222');
    stripe.instead = undefined;
    expect([await card(), lines]).toEqual(['visa 2222', [NOT_DETACHED]]);
    await nextDay();
    expect([[...stripe.world.detached], lines]).toEqual([[methodOf(first)], [NOT_DETACHED]]);
  },
);

test('one former card that Stripe cannot detach keeps none of another organization attached', async () => {
  const [first, second] = [openPage(), openPage()];
  await completePage(first, '1111');
  // Organizations have their turns in the order of their ids.
  const later = await database.addOrganization();
  await openPaymentAccount(database.pool, later, stripe.world.id('cus'));
  const set = "unused_cards = array['pm_later']";
  await sql(database.url, `update payment_accounts set ${set} where organization_id = '${later}'`);
  const broken = { status: 500, body: { error: { type: 'api_error', message: 'Broken' } } };
  stripe.instead = ({ path }) => (path.includes(`${methodOf(first)}/detach`) ? broken : undefined);
  await completePage(second, '2222');
  await nextDay();
  expect([...stripe.world.detached]).toEqual(['pm_later']);
  stripe.instead = undefined;
  // Somebody did it at Stripe.
  stripe.world.detached.add(methodOf(first) ?? '');
  await nextDay();
  await nextDay();
  expect(lines).toEqual([NOT_DETACHED, NOT_DETACHED]);
});

test('a removed card that is in use again, because the database’s clock is behind, is not detached', async () => {
  const [page, next] = [openPage(), openPage()];
  await completePage(page, '1111');
  await forgetCard(database.pool, organizationId, BY);
  const set = "card_saved_at = '2001-01-01'";
  await sql(database.url, `update payment_accounts set ${set} where organization_id = '${organizationId}'`);
  await tellOf(page);
  await nextDay();
  expect([await card(), [...stripe.world.detached]]).toEqual(['visa 1111', []]);
  await completePage(next, '2222');
  expect([...stripe.world.detached]).toEqual([methodOf(page)]);
});

test('a page that is not completed saves nothing', async () => {
  await tellOf(openPage());
  expect(await card()).toBeUndefined();
});

import { beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { settleForgottenPayments } from '#dashboard/server/payments/forgotten-payments.ts';
import { settleFromStripe } from '#dashboard/server/payments/settle.ts';
import { stripeClient } from '#dashboard/server/payments/stripe-client.ts';
import { reportOperatorCrossings } from '#database/alerts/operator-crossings.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { openAudited } from './audited-database.ts';

/** Refunds and disputes that the daily comparison sees, with and without their events. */
const database = opened(openAudited);
const stripe = opened(startScriptedStripe);
let organizationId: string;
let lines: string[];
let days = 0;
const note = (_: object, message: string) => void lines.push(message);
const log = { info: () => {}, warn: note, error: note } as unknown as Log;
const deps = async () => ({ stripe: await stripeClient(stripe.config), database: database.pool, log });
/** Does what follows an event about the payment. */
const tellOf = async (id: string) => settleFromStripe(await deps(), id);
const alerts = () => reportOperatorCrossings(database.pool, ['ops@example.com'], undefined);
async function compare(): Promise<void> {
  const nowMs = Date.now() + DAY_MS * days++;
  await settleForgottenPayments({ ...(await deps()), nowMs: () => nowMs });
}

// The first comparison of a process notes nothing: it did not run when the events were sent.
beforeAll(compare);
beforeEach(async () => {
  organizationId = await database.addOrganization();
  lines = [];
});

/** A payment whose event has arrived. */
async function paid(received = 1000): Promise<string> {
  const top = { gateway_top_up: newId('top', Date.now()), gateway_automatic: 'false' };
  const metadata = { ...top, gateway_organization: organizationId };
  const payment = stripe.world.addPayment({ amount: 1000, currency: 'usd', customer: null, metadata });
  stripe.world.succeed(payment);
  payment.amount_received = received;
  await tellOf(payment.id);
  return payment.id;
}

test.each<[string, (id: string) => unknown, number?]>([
  ['an inquiry', (id) => stripe.world.dispute(id, 1000, 'warning_needs_response')],
  ['a dispute that was prevented', (id) => stripe.world.dispute(id, 1000, 'prevented')],
  ['a refund that failed before it was read', (id) => stripe.world.refund(id, 300, 'failed')],
  ['the refund of a refused payment', (id) => stripe.world.refund(id, 999), 999],
])('%s whose event arrived is not read again, and no event counts as missed', async (_, happen, received) => {
  const id = await paid(received);
  happen(id);
  await tellOf(id);
  lines = [];
  const before = stripe.calls.length;
  await compare();
  const reads = stripe.calls.slice(before).filter(({ path }) => path.includes(id));
  expect([reads, lines]).toEqual([[], []]);
});

test.each([
  ['a payment', 1000],
  ['a refused payment that an operator booked', 999],
])('operators are told of a refund of %s whose event is ten minutes late', async (_, received) => {
  const id = await paid(received);
  if (received === 999)
    await database.administration.credit(organizationId, { amountNanoUsd: 9_990_000_000n, reference: id }, BY);
  stripe.world.refund(id, 500);
  await compare();
  expect([lines.at(-1), await alerts()]).toEqual([expect.stringMatching(/^a payment was read before/), 0]);
  await sql(database.url, "update top_ups set event_missed_at = event_missed_at - interval '10 minutes'");
  expect(await alerts()).toBe(1);
  await sql(database.url, 'update top_ups set event_missed_at = null');
  expect(await alerts()).toBe(0);
});

test('the comparison begins 30 days before the time of PostgreSQL, also if the clock of the dashboard is ahead', async () => {
  days += 60;
  await compare();
  const asked = stripe.calls.map(({ path }) => new URL(path, stripe.config.apiBase).searchParams.get('created[gte]'));
  expect(Math.max(...asked.map(Number))).toBeLessThan(Date.now() / 1000 - 29.5 * 86_400);
});

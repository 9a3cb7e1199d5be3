import { describe, expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { createLog } from '#core/log/log.ts';
import { settleFromStripe } from '#dashboard/server/payments/settle.ts';
import { stripeClient } from '#dashboard/server/payments/stripe-client.ts';
import { createTopUp } from '#database/payments/top-ups.ts';
import { opened } from '../harness/opened.ts';
import { startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { openAudited } from './audited-database.ts';

const database = opened(openAudited);
const stripe = opened(startScriptedStripe);

const balance = async (id: string) => Number((await database.administration.organization(id))?.balanceNanoUsd) / 1e9;

/** Pays ten dollars and disputes them. Returns the balance after each status of the dispute. */
async function balancesIn(statuses: readonly string[]): Promise<readonly number[]> {
  const organizationId = await database.addOrganization();
  const id = newId('top', Date.now());
  await createTopUp(database.pool, { id, organizationId, amountCents: 1000n, createdBy: 'o@example.com' });
  const metadata = { gateway_top_up: id, gateway_organization: organizationId, gateway_automatic: 'false' };
  const payment = stripe.world.addPayment({ amount: 1000, currency: 'usd', metadata, customer: null });
  stripe.world.succeed(payment);
  const dispute = stripe.world.disputes.get(stripe.world.dispute(payment.id, 1000));
  const deps = { stripe: await stripeClient(stripe.config), database: database.pool, log: createLog('silent') };
  const balances: number[] = [];
  for (const status of statuses) {
    if (dispute) dispute.status = status;
    await settleFromStripe(deps, payment.id);
    balances.push(await balance(organizationId));
  }
  return balances;
}

describe('the amount of a dispute', () => {
  test.each([
    'needs_response',
    'under_review',
    'lost',
    'appeal_needs_response',
    'appeal_under_review',
    'new_at_stripe',
  ])('is deducted in the status %s', async (status) => expect(await balancesIn([status])).toEqual([0]));

  test.each(['won', 'prevented', 'warning_needs_response', 'warning_under_review', 'warning_closed'])(
    'is in the balance in the status %s',
    async (status) => expect(await balancesIn([status])).toEqual([10]),
  );

  test('stays deducted during an appeal of a lost dispute, and is credited when the appeal is won', async () => {
    const statuses = ['lost', 'appeal_needs_response', 'appeal_under_review', 'lost', 'won'];
    expect(await balancesIn(statuses)).toEqual([0, 0, 0, 0, 10]);
  });
});

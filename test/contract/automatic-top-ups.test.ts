import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { createLog } from '#core/log/log.ts';
import { topUpAutomatically } from '#dashboard/server/payments/automatic.ts';
import { beginAutomaticTopUps } from '#database/payments/automatic-top-ups.ts';
import {
  findPaymentAccount,
  openPaymentAccount,
  saveCard,
  setAutomaticTopUp,
} from '#database/payments/payment-accounts.ts';
import { BY, settlementOf, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { openAudited } from './audited-database.ts';

const database = opened(openAudited);

/** Automatic top-ups of 10 dollars below a balance of 1 dollar, at most 15 dollars a day. */
const switchOn = (organizations: readonly string[]) =>
  database.pool.query(
    `insert into payment_accounts (organization_id, customer_id, payment_method_id, automatic, below_nano_usd, amount_cents, daily_cents)
     select id, 'cus_' || id, 'pm_1', true, 1000000000, 1000, 1500 from unnest($1::text[]) id`,
    [organizations],
  );
const begin = () => beginAutomaticTopUps(database.pool, () => newId('top', Date.now()));
async function begunFor(id: string) {
  await begin();
  return sql(database.url, `select from top_ups where organization_id = '${id}'`);
}

it('organizations at their daily limit, however many, do not delay the others', async () => {
  const organizations: string[] = [];
  for (let made = 0; made < 105; made++) organizations.push(await database.addOrganization());
  const last = organizations.at(-1) ?? '';
  await switchOn(organizations);
  const spent = organizations.filter((id) => id !== last);
  await database.pool.query(
    `insert into top_ups (id, organization_id, automatic, amount_cents, state)
     select top, id, true, 1000, 'paid' from unnest($1::text[], $2::text[]) t (id, top)`,
    [spent, spent.map(() => newId('top', Date.now()))],
  );
  await begin();
  expect(await sql(database.url, "select organization_id from top_ups where state = 'open'")).toEqual([
    { organization_id: last },
  ]);
});

it.each([
  { what: 'created and asked for yesterday', asked: 'yesterday', today: false },
  { what: 'created yesterday, and asked for today', asked: 'now()', today: true },
  { what: 'created yesterday, and made again after a restore', asked: 'null', today: false },
])('a top-up counts on one day: $what', async ({ asked, today }) => {
  const id = await database.addOrganization();
  await switchOn([id]);
  await database.pool.query(
    `insert into top_ups (id, organization_id, automatic, amount_cents, state, created_at, asked_at)
     select $1, $2, true, 1000, 'paid', yesterday, ${asked}
       from (select date_trunc('day', now()) - interval '1 second') t (yesterday)`,
    [newId('top', Date.now()), id],
  );
  await begin();
  const begun = await sql(database.url, `select from top_ups where organization_id = '${id}' and state = 'open'`);
  expect(begun).toHaveLength(today ? 0 : 1);
});

it('begins when undecided dead letters owe what was above the threshold', async () => {
  const id = await database.addOrganization();
  await switchOn([id]);
  await database.administration.credit(id, { amountNanoUsd: 1_500_000_000n }, BY);
  expect(await begunFor(id)).toHaveLength(0);
  const customer = { organizationId: id, keyId: 'key-1', hash: Buffer.alloc(32) };
  await database.ledger.deadLetter(settlementOf(customer, { costNanoUsd: 500_000_001n }), undefined, true);
  expect(await begunFor(id)).toHaveLength(1);
});

it('none begins after a restore before an owner presses "Try again"', async () => {
  const manual = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const [, statement = ''] = /^psql "\$DATABASE_URL" -c "(update payment_accounts .*)"$/m.exec(manual) ?? [];
  const id = await database.addOrganization();
  await openPaymentAccount(database.pool, id, 'cus_restored');
  const card = { paymentMethodId: 'pm_1', card: 'visa 4242', savedAtMs: Date.now() };
  await saveCard(database.pool, { customerId: 'cus_restored', ...card });
  const settings = { belowNanoUsd: 1_000_000_000n, amountCents: 1000n, dailyCents: 1500n };
  await setAutomaticTopUp(database.pool, id, settings, BY);
  await sql(database.url, statement);
  expect(await begunFor(id)).toHaveLength(0);
  expect((await findPaymentAccount(database.pool, id))?.stopped?.reason).toBe('The database was restored.');
  await setAutomaticTopUp(database.pool, id, settings, BY);
  expect(await begunFor(id)).toHaveLength(1);
});

it('organizations for which Stripe returns errors do not delay the others', async () => {
  const stripe = await startScriptedStripe();
  await sql(database.url, 'update payment_accounts set automatic = false');
  await sql(database.url, "update top_ups set state = 'expired' where state = 'open'");
  const withAutomatic = async (customer: string) => {
    const id = await database.addOrganization();
    const { customerId } = await openPaymentAccount(database.pool, id, customer);
    await saveCard(database.pool, { customerId, paymentMethodId: 'pm_1', card: 'visa 4242', savedAtMs: Date.now() });
    const settings = { belowNanoUsd: 5_000_000_000n, amountCents: 2000n, dailyCents: 4000n };
    await setAutomaticTopUp(database.pool, id, settings, BY);
    await begin();
    return id;
  };
  const round = () =>
    topUpAutomatically(stripe.config, { database: database.pool, nowMs: Date.now, log: createLog('silent') });
  const minutesLater = () => sql(database.url, "update top_ups set asked_at = asked_at - interval '2 minutes'");
  await withAutomatic('cus_bad_first');
  const good = await withAutomatic('cus_good');
  for (let made = 0; made < 8; made++) await withAutomatic(`cus_bad_${made}`);
  // Stripe repeats the first response for an idempotency key, even a 500.
  stripe.instead = ({ method, path, body }) =>
    method === 'POST' && path === '/v1/payment_intents' && body.includes('cus_bad')
      ? { status: 500, body: { error: { type: 'api_error', message: 'An error occurred' } } }
      : undefined;
  for (let rounds = 0; rounds < 3; rounds++) {
    await expect(round()).rejects.toThrow();
    await minutesLater();
  }
  const organization = await database.administration.organization(good);
  await stripe.close();
  expect(organization?.balanceNanoUsd).toBe(20_000_000_000n);
});

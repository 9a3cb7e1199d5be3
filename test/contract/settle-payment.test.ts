import { expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { unbookedReversals, unsettledPayments } from '#database/payments/forgotten-payments.ts';
import type { PaymentFacts } from '#database/payments/payment-facts.ts';
import { beginRead, settlePayment } from '#database/payments/settle-payment.ts';
import { createTopUp } from '#database/payments/top-ups.ts';
import { BY, SILENT } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { withStore } from '../harness/with-store.ts';

const db = withStore();
const database = opened(async () => openDatabase(db.url, SILENT));

async function paid(reference: string): Promise<PaymentFacts> {
  const organizationId = newId('org', Date.now());
  const settings = { id: organizationId, name: 'Acme', ...DEFAULT_RULES };
  await db.store.administration.createOrganization(settings, BY);
  const topUpId = newId('top', Date.now());
  await createTopUp(database, { id: topUpId, organizationId, amountCents: 1000n, createdBy: 'owner@example.com' });
  const outcome = { kind: 'paid', amountCents: 1000n } as const;
  return { paymentIntentId: reference, topUpId, organizationId, currency: 'usd', outcome, reversals: [] };
}

const numberOf = async ({ topUpId }: PaymentFacts) => (await beginRead(database, topUpId)) ?? 0n;
const balance = async ({ organizationId }: PaymentFacts) =>
  (await db.store.administration.organization(organizationId))?.balanceNanoUsd;
const dispute = (amountCents: bigint) => [{ id: 'dp_1', kind: 'dispute', amountCents } as const];

test('of two reads of Stripe the later one is applied, in whatever order they finish', async () => {
  const facts = await paid('pi_1');
  const [older, newer] = [await numberOf(facts), await numberOf(facts)];
  expect(await settlePayment(database, facts, newer)).toEqual({ kind: 'settled', entries: 1 });
  expect(await settlePayment(database, { ...facts, reversals: dispute(600n) }, older)).toEqual({ kind: 'outdated' });
  expect(await balance(facts)).toBe(10_000_000_000n);
});

test('a payment that an operator booked by hand is not booked again, also not for another organization', async () => {
  const facts = await paid('pi_2');
  const byHand = { amountNanoUsd: 10_000_000_000n, reference: 'pi_2' };
  await db.store.administration.credit(facts.organizationId, byHand, BY);
  expect(await settlePayment(database, facts, await numberOf(facts))).toEqual({ kind: 'settled', entries: 0 });
  expect(await balance(facts)).toBe(10_000_000_000n);
  const other = { ...(await paid('pi_2')), paymentIntentId: 'pi_3' };
  await db.store.administration.credit(facts.organizationId, { amountNanoUsd: 1n, reference: 'pi_3' }, BY);
  expect(await settlePayment(database, other, await numberOf(other))).toMatchObject({ kind: 'refused' });
  expect(await balance(other)).toBe(0n);
});

test.each<[string, Partial<PaymentFacts>]>([
  ['of another amount', { outcome: { kind: 'paid', amountCents: 900n } }],
  ['that names another organization', { organizationId: newId('org', 0) }],
])('a refused payment %s that an operator books by hand follows its refunds and disputes', async (_, change) => {
  const facts = { ...(await paid(`pi_${newId('top', Date.now())}`)), ...change };
  const books = (await paid('pi_none')).organizationId;
  const settle = async (reversals: PaymentFacts['reversals']) => {
    expect(await settlePayment(database, { ...facts, reversals }, await numberOf(facts))).toMatchObject({
      kind: 'refused',
    });
    return (await db.store.administration.organization(books))?.balanceNanoUsd;
  };
  const ofIt = (amountCents: bigint) => [{ id: `dp_${facts.topUpId}`, kind: 'dispute', amountCents } as const];
  expect(await settle(ofIt(900n))).toBe(0n);
  await db.store.administration.credit(books, { amountNanoUsd: 9_000_000_000n, reference: facts.paymentIntentId }, BY);
  expect(await settle(ofIt(900n))).toBe(0n);
  expect(await settle(ofIt(0n))).toBe(9_000_000_000n);
  expect((await db.store.administration.verifyLedger()).differences).toEqual([]);
});

test('a payment that was booked by hand for another organization returns from there, also without events', async () => {
  const facts = { ...(await paid('pi_6')), reversals: [{ id: 're_6', kind: 'refund', amountCents: 1000n }] } as const;
  const other = await paid('pi_none');
  const unbooked = async (isTaken: boolean) =>
    unbookedReversals(database, [{ id: 're_6', paymentIntentId: 'pi_6', isTaken }]);
  expect(await unbooked(true)).toEqual([]);
  const byHand = { amountNanoUsd: 10_000_000_000n, reference: 'pi_6' };
  await db.store.administration.credit(other.organizationId, byHand, BY);
  expect(await unbooked(true)).toEqual(['pi_6']);
  expect(await settlePayment(database, facts, await numberOf(facts))).toMatchObject({ kind: 'refused' });
  expect([await balance(facts), await balance(other)]).toEqual([0n, 0n]);
  expect([await unbooked(true), await unbooked(false)]).toEqual([[], ['pi_6']]);
});

test('a refused payment is not read again at the next start, and the right one after it is', async () => {
  const facts = await paid('pi_7');
  const { organizationId } = facts;
  const unsettled = () =>
    unsettledPayments(
      database,
      ['pi_7', 'pi_8'].map((id) => ({ id, organizationId })),
    );
  expect(await unsettled()).toHaveLength(2);
  const less = { ...facts, outcome: { kind: 'paid', amountCents: 900n } } as const;
  expect(await settlePayment(database, less, await numberOf(facts))).toMatchObject({ kind: 'refused' });
  expect(await unsettled()).toEqual(['pi_8']);
  const right = { ...facts, paymentIntentId: 'pi_8' };
  expect(await settlePayment(database, right, await numberOf(facts))).toEqual({ kind: 'settled', entries: 1 });
  expect(await unsettled()).toEqual([]);
});

test('a payment on its way is read at the next start, although another one of its top-up was refused', async () => {
  const facts = { ...(await paid('pi_9')), outcome: { kind: 'open' } } as const;
  const { organizationId } = facts;
  expect(await settlePayment(database, facts, await numberOf(facts))).toEqual({ kind: 'settled', entries: 0 });
  const another = { ...facts, paymentIntentId: 'pi_10' };
  expect(await settlePayment(database, another, await numberOf(facts))).toMatchObject({ kind: 'refused' });
  const named = ['pi_9', 'pi_10'].map((id) => ({ id, organizationId }));
  expect(await unsettledPayments(database, named)).toEqual(['pi_9']);
});

test('reversals of a refused payment in another currency are left to the operator who booked it', async () => {
  const facts = {
    ...(await paid('pi_5')),
    currency: 'eur',
    reversals: [{ id: 'dp_5', kind: 'dispute', amountCents: 900n }],
  } as const;
  await db.store.administration.credit(facts.organizationId, { amountNanoUsd: 11n, reference: 'pi_5' }, BY);
  expect(await settlePayment(database, facts, await numberOf(facts))).toMatchObject({ kind: 'refused' });
  expect(await balance(facts)).toBe(11n);
});

test('the ledger verifies with payments and reversals', async () => {
  const facts = await paid('pi_4');
  for (const cents of [400n, 0n, 1000n])
    await settlePayment(database, { ...facts, reversals: dispute(cents) }, await numberOf(facts));
  expect([await balance(facts), (await db.store.administration.verifyLedger()).differences]).toEqual([0n, []]);
});

import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { utcDay } from '#core/clock.ts';
import type { KeyChange } from '#database/keys/key-records.ts';
import { chargeRecords } from '#database/ledger/charge-records.ts';
import { addCustomer, addKey, BY, lockWaits, settlementOf } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const day = (text: string) => utcDay(Date.parse(text));

describe('monthly and lifetime budgets of keys in PostgreSQL', () => {
  const db = withStore();

  type Customer = Awaited<ReturnType<typeof addCustomer>>;
  const setBudgets = ({ organizationId, keyId }: Customer, change: KeyChange) =>
    db.store.administration.updateKey(organizationId, keyId, change, BY);
  const charge = async (customer: Customer, date: string, costNanoUsd: bigint) =>
    (await db.store.ledger.charge(settlementOf(customer, { day: day(date), costNanoUsd }))).key;
  const readKey = async ({ hash }: Customer, date: string) =>
    (await db.store.keys.findByHash(hash, day(date)))?.account.key;

  it('count the spend before they were set, in the UTC month of the requested day', async () => {
    const customer = await addCustomer(db.store);
    const other = { ...customer, ...(await addKey(db.store, customer.organizationId)) };
    for (const [date, cost] of [
      ['2026-01-31', 1n],
      ['2026-02-01', 20n],
      ['2026-02-28', 300n],
      ['2026-03-01', 4_000n],
    ] as const) {
      await charge(customer, date, cost);
      await charge(other, date, 7n);
    }
    expect(await readKey(customer, '2026-02-10')).toEqual({ sequence: 9, day: day('2026-02-10'), spentNanoUsd: 0n });
    await setBudgets(customer, { monthlyBudgetNanoUsd: 5n });
    expect(await readKey(customer, '2026-02-28')).toEqual({
      ...{ sequence: 9, day: day('2026-02-28'), spentNanoUsd: 300n },
      monthSpentNanoUsd: 320n,
    });
    await setBudgets(customer, { lifetimeBudgetNanoUsd: 6n });
    expect((await db.store.keys.findByHash(customer.hash, 0))?.key.limits).toEqual({
      monthlyBudgetNanoUsd: 5n,
      lifetimeBudgetNanoUsd: 6n,
    });
    for (const [date, monthSpentNanoUsd] of [
      ['2026-01-01', 1n],
      ['2026-02-01', 320n],
      ['2026-03-31', 4_000n],
      ['2026-04-01', 0n],
    ] as const) {
      expect(await readKey(customer, date)).toMatchObject({ monthSpentNanoUsd, lifetimeSpentNanoUsd: 4_321n });
    }
    await setBudgets(customer, { monthlyBudgetNanoUsd: null });
    expect(await readKey(customer, '2026-02-28')).not.toHaveProperty('monthSpentNanoUsd');
  });

  it('are returned with each charge of their key, and with no other', async () => {
    const customer = await addCustomer(db.store);
    const other = { ...customer, ...(await addKey(db.store, customer.organizationId)) };
    await setBudgets(customer, { monthlyBudgetNanoUsd: 5n, lifetimeBudgetNanoUsd: 6n });
    const late = charge(customer, '2026-01-31', 1n);
    const batch = await Promise.all([late, charge(customer, '2026-02-01', 20n), charge(other, '2026-02-01', 7n)]);
    expect(batch[2]).toMatchObject({ spentNanoUsd: 7n });
    expect(batch[2]).not.toHaveProperty('monthSpentNanoUsd');
    expect(await charge(customer, '2026-02-02', 300n)).toMatchObject({
      spentNanoUsd: 300n,
      monthSpentNanoUsd: 320n,
      lifetimeSpentNanoUsd: 321n,
    });
    // A repeated charge returns the current state.
    const repeated = settlementOf(customer, { day: day('2026-02-02'), costNanoUsd: 50n });
    for (let i = 0; i < 2; i++) {
      expect((await db.store.ledger.charge(repeated)).key).toMatchObject({
        monthSpentNanoUsd: 370n,
        lifetimeSpentNanoUsd: 371n,
      });
    }
  });

  it('are set only after charges in progress that did not see them', async () => {
    const customer = await addCustomer(db.store);
    const settlement = settlementOf(customer, { day: day('2026-02-01'), costNanoUsd: 20n });
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('begin');
    const { rows } = await client.query('select charge_generations($1::charge[]) as charged', [
      chargeRecords([settlement]),
    ]);
    expect(rows[0]?.charged.accounts[0]).toHaveLength(6);
    const set = setBudgets(customer, { lifetimeBudgetNanoUsd: 6n });
    await expect.poll(() => lockWaits(db.url), { timeout: 20_000 }).toBeGreaterThan(0);
    expect((await db.store.keys.findByHash(customer.hash, 0))?.key.limits).toEqual({});
    await client.query('commit');
    expect(await set).toMatchObject({ kind: 'updated' });
    expect(await readKey(customer, '2026-02-01')).toMatchObject({ sequence: 2, lifetimeSpentNanoUsd: 20n });
  });
});

import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import type { Loss } from '#database/costs/losses.ts';
import { chargeRecords } from '#database/ledger/charge-records.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { addCustomer, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const db = withStore({ options: { onLoss: (reason, amountNanoUsd) => void reported.push([reason, amountNanoUsd]) } });
let reported: [reason: string, amountNanoUsd: bigint][] = [];

const lossesOf = async (organizationId: string) =>
  (await db.store.administration.losses(0))
    .filter((loss) => loss.organizationId === organizationId)
    .map(({ generationId, reason, amountNanoUsd }) => ({ generationId, reason, amountNanoUsd }));

describe('a charge above its hold, or above the rest of the balance', () => {
  it('is cut, and the rest is a loss for each reason, reported once however often it is repeated', async () => {
    const customer = await addCustomer(db.store, 70n);
    const [first, second] = [
      settlementOf(customer, { costNanoUsd: 2_500n, holdNanoUsd: 50n, providerModel: 'large-1' }),
      settlementOf(customer, { costNanoUsd: 1_000n, holdNanoUsd: 60n }),
    ];
    reported = [];
    await db.store.ledger.charge(first);
    await db.store.ledger.charge(second);
    const expected = [
      { generationId: first.generationId, reason: 'over_hold', amountNanoUsd: 2_450n },
      { generationId: second.generationId, reason: 'balance', amountNanoUsd: 40n },
      { generationId: second.generationId, reason: 'over_hold', amountNanoUsd: 940n },
    ];
    expect(await lossesOf(customer.organizationId)).toEqual(expected);
    expect(reported.toSorted()).toEqual([
      ['balance', 40n],
      ['over_hold', 2_450n],
      ['over_hold', 940n],
    ]);
    for (const repeated of [first, second]) await db.store.ledger.charge({ ...repeated, costNanoUsd: 9_999n });
    expect(await lossesOf(customer.organizationId)).toEqual(expected);
    expect(reported).toHaveLength(3);
    expect(await db.store.ledger.findGeneration(customer.organizationId, first.generationId)).toMatchObject({
      costNanoUsd: 50n,
      providerModel: 'large-1',
    });
  });

  it('takes the rest of the balance in the order of ids, in any order of the batch, and once', async () => {
    const [poor, rich] = [await addCustomer(db.store, 100n), await addCustomer(db.store, 100_000n)];
    const earlier = settlementOf(poor, { costNanoUsd: 30n, holdNanoUsd: 30n });
    await db.store.ledger.charge(earlier);
    const late = Array.from({ length: 6 }, (_, i) =>
      settlementOf(poor, { generationId: newId('gen', Date.now() + i), costNanoUsd: 20n, holdNanoUsd: 20n }),
    );
    const paid = Array.from({ length: 6 }, () => settlementOf(rich, { costNanoUsd: 300n, holdNanoUsd: 200n }));
    const batch = [...late.toReversed(), earlier, ...paid, ...late];
    await Promise.all(batch.map((settlement) => db.store.ledger.charge(settlement)));
    const costs = [];
    for (const { generationId } of late)
      costs.push((await db.store.ledger.findGeneration(poor.organizationId, generationId))?.costNanoUsd);
    expect(costs).toEqual([20n, 20n, 20n, 10n, 0n, 0n]);
    expect(await lossesOf(poor.organizationId)).toEqual(
      [10n, 20n, 20n].map((amountNanoUsd, i) => ({
        generationId: late[i + 3]?.generationId,
        reason: 'balance',
        amountNanoUsd,
      })),
    );
    expect((await db.store.ledger.credits(poor.organizationId)).balanceNanoUsd).toBe(0n);
    expect((await db.store.ledger.credits(rich.organizationId)).balanceNanoUsd).toBe(98_800n);
    expect(await lossesOf(rich.organizationId)).toHaveLength(6);
  });

  it('is booked once with the loss of a more expensive tier, and the ledger verifies its price', async () => {
    const customer = await addCustomer(db.store, 10_000n);
    const withTierLoss = (tierLossNanoUsd: bigint) =>
      settlementOf(customer, { costNanoUsd: 300n, holdNanoUsd: 300n, tierLossNanoUsd });
    const [one, other, absurd] = [withTierLoss(7n), withTierLoss(9n), withTierLoss(10n ** 20n)];
    reported = [];
    // These charges share a batch, with and without such a loss.
    const all = [one, other, absurd, settlementOf(customer, { costNanoUsd: 300n }), one];
    await Promise.all(all.map((settlement) => db.store.ledger.charge(settlement)));
    await db.store.ledger.charge(one);
    const byGeneration = new Map((await lossesOf(customer.organizationId)).map((loss) => [loss.generationId, loss]));
    expect([one, other, absurd].map(({ generationId }) => byGeneration.get(generationId))).toMatchObject(
      [7n, 9n, 10n ** 18n].map((amountNanoUsd) => ({ reason: 'tier', amountNanoUsd })),
    );
    expect(byGeneration.size).toBe(3);
    expect(reported).toHaveLength(3);
    expect((await db.store.ledger.credits(customer.organizationId)).balanceNanoUsd).toBe(8_800n);
    expect((await db.store.administration.verifyLedger()).differences).toEqual([]);
  });

  it('cannot be written as an entry that leaves the balance below zero', async () => {
    const { organizationId } = await addCustomer(db.store, 5n);
    const entry = (amount: number, balance: number) =>
      sql(
        db.url,
        `begin; insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, generation_id)
         values ('${organizationId}', 2, 'charge', ${amount}, ${balance}, '${newId('gen', 1)}'); rollback`,
      );
    await expect(entry(-6, -1)).rejects.toMatchObject({ code: '23514' });
    await entry(0, -1);
  });
});

it('any batch is charged as if one by one in the order of ids, and all of its price is charged or lost', async () => {
  const client = new pg.Client({ connectionString: db.url });
  await client.connect();
  const charge = fc.record({
    who: fc.nat(2),
    cost: fc.bigInt(0n, 60n),
    hold: fc.option(fc.bigInt(0n, 60n), { nil: undefined }),
  });
  const credits = fc.tuple(...Array.from({ length: 3 }, () => fc.bigInt(1n, 200n)));
  await fc.assert(
    fc.asyncProperty(credits, fc.array(charge, { minLength: 1, maxLength: 12 }), async (given, asked) => {
      const customers = await Promise.all(given.map((credit) => addCustomer(db.store, credit)));
      const batch = asked.flatMap(({ who, cost, hold }, i) => {
        const customer = customers[who];
        const generationId = newId('gen', Date.now() + i);
        const held = hold === undefined ? {} : { holdNanoUsd: hold };
        return customer ? [settlementOf(customer, { generationId, costNanoUsd: cost, ...held })] : [];
      });
      const repeated = [...batch, ...batch.slice(0, 2)].toReversed();
      await client.query('select charge_generations($1::charge[])', [chargeRecords(repeated)]);
      const left = new Map(customers.map(({ organizationId }, i) => [organizationId, given[i] ?? 0n]));
      for (const { generationId, organizationId, costNanoUsd, holdNanoUsd = costNanoUsd } of batch) {
        const balance = left.get(organizationId) ?? 0n;
        const charged = [costNanoUsd, holdNanoUsd, balance].reduce((least, one) => (one < least ? one : least));
        left.set(organizationId, balance - charged);
        const generation = await db.store.ledger.findGeneration(organizationId, generationId);
        expect(generation?.costNanoUsd).toBe(charged);
        const lost = (await lossesOf(organizationId)).filter((loss) => loss.generationId === generationId);
        expect(lost.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)).toBe(costNanoUsd - charged);
      }
      for (const [organizationId, balance] of left)
        expect((await db.store.ledger.credits(organizationId)).balanceNanoUsd).toBe(balance);
    }),
    { numRuns: propertyRuns(80) },
  );
  await client.end();
  expect((await db.store.administration.verifyLedger()).differences).toEqual([]);
});

it('a loss without a generation is written once for each reason', async () => {
  const { organizationId } = await addCustomer(db.store, 5n);
  const generationId = newId('gen', Date.now());
  const loss: Loss = { generationId, organizationId, reason: 'timeout', amountNanoUsd: 7n, model: 'm', provider: 'p' };
  reported = [];
  await db.store.ledger.lose(loss);
  await db.store.ledger.lose({ ...loss, amountNanoUsd: 8n });
  await db.store.ledger.lose({ ...loss, reason: 'crash' });
  expect(await lossesOf(organizationId)).toEqual([
    { generationId, reason: 'timeout', amountNanoUsd: 7n },
    { generationId, reason: 'crash', amountNanoUsd: 7n },
  ]);
  expect(reported).toEqual([
    ['timeout', 7n],
    ['crash', 7n],
  ]);
  const all = await db.store.administration.losses(0);
  const since = all.at(-1)?.createdAtMs ?? 0;
  expect(await db.store.administration.losses(since + 1)).toEqual([]);
});

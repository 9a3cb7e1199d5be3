import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import type { Ledger, Settlement, UsageGroup, UsageRow } from '#database/ledger/ledger.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { type Customer, DAY, settlementOf } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { usageOf } from './usage-of.ts';

/** A ledger, with the calls of the gateway and its operators around it. */
export interface LedgerUnderTest {
  readonly ledger: Ledger;
  /** A new organization with one key, which has a monthly and a lifetime budget. */
  addCustomer(creditNanoUsd: NanoUsd): Promise<Customer>;
  credit(organizationId: string, amountNanoUsd: NanoUsd): Promise<void>;
  /** The read that authenticates a request. */
  read(customer: Customer, day: UtcDay): Promise<AccountSnapshot>;
  close(): Promise<void>;
}

/** The guarantees of every ledger for admission and settlement. */
export function ledgerContract(name: string, open: () => Promise<LedgerUnderTest>): void {
  describe(`${name} as a ledger`, () => {
    const on = opened(open);

    it('charges once, and returns the current account for a repeated charge', async () => {
      const customer = await on.addCustomer(1_000n);
      const settlement = settlementOf(customer, { costNanoUsd: 300n });
      const first = await on.ledger.charge(settlement);
      expect(first.organization).toEqual({ sequence: 2, balanceNanoUsd: 700n, day: DAY, spentNanoUsd: 300n });
      const longer = { monthSpentNanoUsd: 300n, lifetimeSpentNanoUsd: 300n };
      expect(first.key).toEqual({ sequence: 2, day: DAY, spentNanoUsd: 300n, ...longer });
      expect(await on.ledger.charge({ ...settlement, costNanoUsd: 999n })).toEqual(first);
      await on.ledger.charge(settlementOf(customer, { costNanoUsd: 100n }));
      const later = await on.ledger.charge(settlement);
      expect(later.organization).toEqual({ sequence: 3, balanceNanoUsd: 600n, day: DAY, spentNanoUsd: 400n });
    });

    it('returns all committed entries to every reader, with a sequence that grows with each entry', async () => {
      const customer = await on.addCustomer(1_000n);
      const before = await on.read(customer, DAY);
      expect(before.organization).toEqual({ sequence: 1, balanceNanoUsd: 1_000n, day: DAY, spentNanoUsd: 0n });
      const settled = await on.ledger.charge(settlementOf(customer, { costNanoUsd: 0n }));
      expect(await on.read(customer, DAY)).toEqual(settled);
      await on.credit(customer.organizationId, 500n);
      const after = await on.read(customer, DAY);
      expect(after.organization).toEqual({ sequence: 3, balanceNanoUsd: 1_500n, day: DAY, spentNanoUsd: 0n });
      expect(after.ledgerEpoch).toBe(before.ledgerEpoch);
    });

    it('keeps the spend of each day, of each month and of each organization apart', async () => {
      const [one, other] = [await on.addCustomer(1_000n), await on.addCustomer(1_000n)];
      await on.ledger.charge(settlementOf(one, { costNanoUsd: 7n, day: DAY - 1 }));
      await on.ledger.charge(settlementOf(one, { costNanoUsd: 50n }));
      const late = await on.ledger.charge(settlementOf(one, { costNanoUsd: 3n, day: DAY - 1 }));
      expect(late.organization).toMatchObject({ balanceNanoUsd: 940n, day: DAY - 1, spentNanoUsd: 10n });
      expect((await on.read(one, DAY)).key.spentNanoUsd).toBe(50n);
      await on.ledger.charge(settlementOf(one, { costNanoUsd: 100n, day: DAY - 31 }));
      expect((await on.read(one, DAY)).key).toMatchObject({ monthSpentNanoUsd: 60n, lifetimeSpentNanoUsd: 160n });
      expect((await on.read(other, DAY)).organization).toMatchObject({ balanceNanoUsd: 1_000n, spentNanoUsd: 0n });
    });

    it('charges at most the hold and at most the rest of the balance', async () => {
      const customer = await on.addCustomer(100n);
      const above = settlementOf(customer, { costNanoUsd: 2_000n, holdNanoUsd: 40n });
      expect((await on.ledger.charge(above)).organization).toMatchObject({ balanceNanoUsd: 60n, spentNanoUsd: 40n });
      const late = settlementOf(customer, { costNanoUsd: 70n, holdNanoUsd: 90n });
      expect((await on.ledger.charge(late)).organization).toMatchObject({ balanceNanoUsd: 0n, spentNanoUsd: 100n });
      await on.credit(customer.organizationId, -5n);
      const below = settlementOf(customer, { costNanoUsd: 1n, holdNanoUsd: 1n });
      expect((await on.ledger.charge(below)).organization).toMatchObject({ balanceNanoUsd: -5n, spentNanoUsd: 100n });
      const costs = [];
      for (const { generationId } of [above, late, below])
        costs.push((await on.ledger.findGeneration(customer.organizationId, generationId))?.costNanoUsd);
      expect(costs).toEqual([40n, 60n, 0n]);
      expect(await on.ledger.credits(customer.organizationId)).toMatchObject({ totalUsageNanoUsd: 100n });
    });

    it('rejects an impossible charge, and changes nothing', async () => {
      const [customer, stranger] = [await on.addCustomer(1_000n), await on.addCustomer(1_000n)];
      const taken = settlementOf(stranger, { costNanoUsd: 1n });
      await on.ledger.charge(taken);
      for (const impossible of [
        settlementOf(customer, { costNanoUsd: -1n }),
        settlementOf(customer, { keyId: stranger.keyId }),
        settlementOf(customer, { generationId: taken.generationId }),
      ]) {
        await expect(on.ledger.charge(impossible)).rejects.toThrow();
      }
      expect((await on.read(customer, DAY)).organization).toMatchObject({ sequence: 1, balanceNanoUsd: 1_000n });
    });

    it('charges each of many concurrent settlements once, also if some are repeated', async () => {
      const customer = await on.addCustomer(100_000n);
      const settlements = Array.from({ length: 60 }, (_, i) => settlementOf(customer, { costNanoUsd: BigInt(i) }));
      const snapshots = await Promise.all(
        [...settlements, ...settlements.slice(20, 40)].map((settlement) => on.ledger.charge(settlement)),
      );
      expect(snapshots).toHaveLength(80);
      const account = await on.read(customer, DAY);
      expect(account.organization).toMatchObject({ sequence: 61, balanceNanoUsd: 100_000n - (59n * 60n) / 2n });
      const newest = snapshots.toSorted((a, b) => b.organization.sequence - a.organization.sequence)[0];
      expect(newest).toEqual(account);
    });

    it('returns which of many are charged, and its epoch', async () => {
      const [customer, stranger] = [await on.addCustomer(1_000n), await on.addCustomer(1_000n)];
      const [one, two, never] = [customer, stranger, customer].map((of) => settlementOf(of, { costNanoUsd: 1n }));
      const { ledgerEpoch } = await on.ledger.charge(one as Settlement);
      await on.ledger.charge(two as Settlement);
      const ids = [one, two, never].map((each) => each?.generationId ?? '');
      expect(await on.ledger.chargedAmong(ids)).toEqual(new Set(ids.slice(0, 2)));
      expect(await on.ledger.chargedAmong([])).toEqual(new Set());
      expect(await on.ledger.currentEpoch()).toBe(ledgerEpoch);
    });

    it('finds generations only for their organization, and sums them', async () => {
      const [customer, stranger] = [await on.addCustomer(1_000n), await on.addCustomer(1_000n)];
      const settlement = settlementOf(customer, { costNanoUsd: 30n, model: 'a', finishReason: 'stop', api: 'chat' });
      const { organizationId, day, prices: _, holdNanoUsd: __, ...stored } = settlement;
      expect(await on.ledger.findGeneration(organizationId, settlement.generationId)).toBeUndefined();
      await on.ledger.charge(settlement);
      await on.ledger.charge(settlementOf(customer, { costNanoUsd: 12n, day: DAY - 1, model: 'b' }));
      expect(await on.ledger.findGeneration(organizationId, settlement.generationId)).toEqual(stored);
      expect(await on.ledger.findGeneration(stranger.organizationId, settlement.generationId)).toBeUndefined();
      expect(await on.ledger.credits(organizationId)).toEqual({
        balanceNanoUsd: 958n,
        totalCreditsNanoUsd: 1_000n,
        totalUsageNanoUsd: 42n,
        deadLettersNanoUsd: 0n,
      });
      const usage = await usageOf(on.ledger, {
        organizationId,
        firstDay: DAY - 1,
        lastDay: day,
        groupBy: new Set(['day', 'model']),
      });
      expect(usage.map((row) => [row.day, row.model, row.requests, row.costNanoUsd])).toEqual([
        [DAY, 'a', 1, 30n],
        [DAY - 1, 'b', 1, 12n],
      ]);
    });

    it('sums by user exactly, in any grouping, also with repeated charges', async () => {
      const users = [undefined, '', 'ada', 'Ada', '😀'.repeat(512)];
      const request = fc.record({
        user: fc.constantFrom(...users),
        model: fc.constantFrom('a', 'b'),
        day: fc.constantFrom(DAY, DAY - 1),
        costNanoUsd: fc.bigInt({ min: 0n, max: 5n }),
        isRepeated: fc.boolean(),
      });
      const groups = fc.subarray<UsageGroup>(['day', 'model', 'key']);
      await fc.assert(
        fc.asyncProperty(fc.array(request, { maxLength: 12 }), groups, async (requests, more) => {
          const customer = await on.addCustomer(1_000n);
          const { organizationId } = customer;
          const charges = requests.map(({ user, isRepeated, ...rest }) => ({
            settlement: settlementOf(customer, { ...rest, ...(user === undefined ? {} : { user }) }),
            isRepeated,
          }));
          await Promise.all(charges.map(({ settlement }) => on.ledger.charge(settlement)));
          for (const { settlement, isRepeated } of charges) if (isRepeated) await on.ledger.charge(settlement);
          const groupBy = new Set<UsageGroup>([...more, 'user']);
          const rows = await usageOf(on.ledger, { organizationId, firstDay: DAY - 1, lastDay: DAY, groupBy });
          const placeOf = ({ day, model, keyId, user = null }: Partial<UsageRow>) =>
            JSON.stringify([
              more.includes('day') && day,
              more.includes('model') && model,
              more.includes('key') && keyId,
              user,
            ]);
          const expected = Map.groupBy(charges, ({ settlement }) => placeOf(settlement));
          expect(new Map(rows.map((row) => [placeOf(row), row.requests]))).toEqual(
            new Map([...expected].map(([place, of]) => [place, of.length])),
          );
          for (const row of rows) {
            const of = expected.get(placeOf(row)) ?? [];
            expect(row.costNanoUsd).toBe(of.reduce((sum, { settlement }) => sum + settlement.costNanoUsd, 0n));
            expect(row.usage.promptTokens).toBe(
              of.reduce((sum, { settlement }) => sum + settlement.usage.promptTokens, 0),
            );
          }
        }),
        { numRuns: propertyRuns(20) },
      );
    });
  });
}

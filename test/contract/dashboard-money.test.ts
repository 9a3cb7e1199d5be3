import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { type LedgerQuery, ledgerPage } from '#database/ledger/ledger-pages.ts';
import { organizationMoney } from '#database/organizations/organization-reads.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { addCustomer, BY, createDatabase, DAY, openStore, SILENT, settlementOf, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { readPages } from './read-pages.ts';

const url = await createDatabase();
const store = opened(() => openStore(url));
const database = opened(async () => openDatabase(url, SILENT));

describe('the ledger by pages', () => {
  const allPages = (query: Omit<LedgerQuery, 'limit' | 'forCustomer'>, limit: number) =>
    readPages(limit, async (page: { before?: number; limit: number }) => {
      const { entries, next } = await ledgerPage(database, { forCustomer: false, ...query, ...page });
      return [entries, next];
    });

  it('shows each entry with its balance, and charges with model and key', async () => {
    const customer = await addCustomer(store, 1_000n);
    const settlement = settlementOf(customer, { costNanoUsd: 100n });
    await store.ledger.charge(settlement);
    const { organizationId } = customer;
    await store.administration.credit(organizationId, { amountNanoUsd: 5n, note: 'thanks', reference: 'r1' }, BY);
    const entries = await allPages({ organizationId }, 2);
    expect(entries).toEqual([
      {
        sequence: 3,
        atMs: expect.any(Number),
        kind: 'credit',
        amountNanoUsd: '5',
        balanceNanoUsd: '905',
        note: 'thanks',
        reference: 'r1',
        actor: 'test',
      },
      {
        sequence: 2,
        atMs: expect.any(Number),
        kind: 'charge',
        amountNanoUsd: '-100',
        balanceNanoUsd: '900',
        generationId: settlement.generationId,
        model: 'gpt-5-mini',
        keyId: customer.keyId,
        keyName: 'test',
      },
      expect.objectContaining({ sequence: 1, kind: 'credit', amountNanoUsd: '1000', balanceNanoUsd: '1000' }),
    ]);
  });

  const [START_MS, STEP_MS, ENTRIES] = [Date.UTC(2026, 9, 1), 20_000, 400];

  it('finds a range of time, also if entries are out of order', async () => {
    const { organizationId } = await addCustomer(store, 0n);
    // The times of neighbours are out of order by up to 40 s. Every seventh entry is a credit.
    await sql(
      url,
      `insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, generation_id, actor, created_at)
       select '${organizationId}', i, case when i % 7 = 0 then 'credit' else 'charge' end, case when i % 7 = 0 then 1 else -1 end, 0,
         case when i % 7 = 0 then null else 'gen-' || i end, 'test', to_timestamp(${START_MS / 1000} + i * ${STEP_MS / 1000} + (i * 37) % 40)
       from generate_series(1, ${ENTRIES}) as i;
       update accounts set sequence = ${ENTRIES} where organization_id = '${organizationId}'`,
    );
    const all = await allPages({ organizationId }, 150);
    expect(all.map(({ sequence }) => sequence)).toEqual(Array.from({ length: ENTRIES }, (_, i) => ENTRIES - i));
    const moment = fc.integer({ min: START_MS - STEP_MS, max: START_MS + (ENTRIES + 3) * STEP_MS });
    const range = fc.record(
      { fromMs: moment, toMs: moment, kind: fc.constantFrom('credit' as const, 'charge' as const) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(range, async (filter) => {
        const { fromMs = 0, toMs = Number.POSITIVE_INFINITY, kind } = filter;
        const wanted = all.filter(
          (entry) => entry.atMs >= fromMs && entry.atMs < toMs && (kind === undefined || entry.kind === kind),
        );
        expect(await allPages({ organizationId, ...filter }, 90)).toEqual(wanted);
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it('contains one organization, and is empty without entries', async () => {
    const { organizationId } = await addCustomer(store, 0n);
    expect(await ledgerPage(database, { forCustomer: false, organizationId, limit: 50 })).toEqual({ entries: [] });
    expect(await ledgerPage(database, { forCustomer: false, organizationId, fromMs: 5, toMs: 6, limit: 50 })).toEqual({
      entries: [],
    });
  });

  it('comes with the balance and the spend of today and in total', async () => {
    const customer = await addCustomer(store, 1_000n);
    await store.ledger.charge(settlementOf(customer, { costNanoUsd: 100n }));
    await store.ledger.charge(settlementOf(customer, { costNanoUsd: 7n, day: DAY - 6 }));
    await store.ledger.charge(settlementOf(customer, { costNanoUsd: 3n, day: DAY - 7 }));
    expect(await organizationMoney(database, customer.organizationId, DAY)).toEqual({
      balanceNanoUsd: 890n,
      totalCreditsNanoUsd: 1_000n,
      totalUsageNanoUsd: 110n,
      spentTodayNanoUsd: 100n,
      spentWeekNanoUsd: 107n,
      topsUpItself: false,
      heldNanoUsd: 0n,
    });
    await store.ledger.deadLetter(settlementOf(customer, { costNanoUsd: 40n }), undefined, true);
    expect(await organizationMoney(database, customer.organizationId, DAY)).toMatchObject({
      balanceNanoUsd: 890n,
      heldNanoUsd: 40n,
    });
    expect(await organizationMoney(database, 'org-none', DAY)).toBeUndefined();
  });
});

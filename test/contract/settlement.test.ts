import { describe, expect, it } from 'vitest';
import { NO_USAGE } from '#core/pricing.ts';
import { ChargeRefused } from '#database/ledger/ledger.ts';
import { addCustomer, addKey, BY, type Customer, openStore, settlementOf, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { withStore } from '../harness/with-store.ts';

describe('settlement in PostgreSQL', () => {
  const db = withStore({ verified: true });
  /** Connections of a second gateway process. */
  const second = opened(() => openStore(db.url));

  it('charges 500 settlements of 50 parallel callers in two processes once each', async () => {
    const customers: Customer[] = [];
    for (let i = 0; i < 5; i++) {
      const customer = await addCustomer(db.store, 1_000_000n);
      customers.push(customer, { ...customer, ...(await addKey(db.store, customer.organizationId)) });
    }
    const callers = Array.from({ length: 50 }, async (_, caller) => {
      const process = caller % 2 === 0 ? db.store : second;
      for (let i = 0; i < 10; i++) {
        const customer = customers[(caller + i) % customers.length];
        if (!customer) throw new Error('there are ten customers');
        const settlement = settlementOf(customer, { costNanoUsd: BigInt(1 + caller), model: `model-${i % 3}` });
        await process.ledger.charge(settlement);
        // The other process settles it too, as from its log.
        if (i === 0) await (caller % 2 === 0 ? second : db.store).ledger.charge(settlement);
      }
    });
    await Promise.all(callers);
    const [counts] = await sql(db.url, `select count(*)::int as n, sum(cost_nano_usd)::int as cost from generations`);
    expect(counts).toEqual({ n: 500, cost: 10 * ((50 * 51) / 2) });
    const report = await db.store.administration.verifyLedger();
    expect(report).toMatchObject({ entries: 506, generations: 500, differences: [] });
  });

  it('writes an entry for a charge of zero, of a free model or without a balance', async () => {
    const customer = await addCustomer(db.store, 10n);
    const late = await db.store.ledger.charge(settlementOf(customer, { costNanoUsd: 25n }));
    expect(late.organization).toMatchObject({ sequence: 2, balanceNanoUsd: 0n });
    const free = await db.store.ledger.charge(settlementOf(customer, { costNanoUsd: 0n }));
    expect(free.organization).toMatchObject({ sequence: 3, balanceNanoUsd: 0n });
    const nothing = await db.store.ledger.charge(settlementOf(customer, { costNanoUsd: 1n }));
    expect(nothing.organization).toMatchObject({ sequence: 4, balanceNanoUsd: 0n });
  });

  it('rejects only a row that PostgreSQL refuses, and commits its neighbours', async () => {
    const customer = await addCustomer(db.store, 100_000n);
    const stranger = await addCustomer(db.store);
    const batch = Array.from({ length: 40 }, () => settlementOf(customer, { costNanoUsd: 1n }));
    const taken = settlementOf(stranger);
    await db.store.ledger.charge(taken);
    const poisoned = [
      settlementOf(customer, { costNanoUsd: -1n }),
      settlementOf(customer, { keyId: stranger.keyId }),
      settlementOf(customer, { organizationId: `org-${'0'.repeat(26)}` }),
      settlementOf(customer, { generationId: taken.generationId }),
      settlementOf(customer, { costNanoUsd: 2n ** 70n }),
      settlementOf(customer, {
        usage: { ...NO_USAGE, promptTokens: 1, completionTokens: 1, cachedTokens: 2 },
      }),
    ];
    poisoned.forEach((settlement, i) => void batch.splice(i * 7, 0, settlement));
    const outcomes = await Promise.allSettled(batch.map((settlement) => db.store.ledger.charge(settlement)));
    outcomes.forEach((outcome, i) => {
      const settlement = batch[i];
      const expected = settlement && poisoned.includes(settlement) ? 'rejected' : 'fulfilled';
      expect(outcome.status, `settlement ${i}`).toBe(expected);
      if (outcome.status === 'rejected') expect(outcome.reason.name).toBe('ChargeRefused');
    });
    const { balanceNanoUsd } = await db.store.ledger.credits(customer.organizationId);
    expect(balanceNanoUsd).toBe(100_000n - 40n);
  });

  it('counts no batch as failed because PostgreSQL refuses its charge, with or without an Idempotency-Key', async () => {
    const figures: unknown[] = [];
    const store = await openStore(db.url, { onBatch: ({ batch, failed }) => figures.push({ batch, failed }) });
    const refused = settlementOf(await addCustomer(store), { costNanoUsd: -1n });
    const claim = { keyHash: Buffer.alloc(32), bodyHash: Buffer.alloc(32) };
    await expect(store.ledger.charge(refused)).rejects.toThrow(ChargeRefused);
    await store.idempotency.claim({ ...refused, ...claim, leaseMs: 60_000, retentionMs: 60_000 });
    await expect(store.ledger.chargeClaimed({ ...refused, claim })).rejects.toThrow(ChargeRefused);
    expect(figures).toEqual([
      { batch: 'settlement', failed: false },
      { batch: 'claimed_settlement', failed: false },
    ]);
    await store.close();
  });

  it('charges despite invalid texts of providers and times of clocks, which are corrected', async () => {
    const customer = await addCustomer(db.store);
    const settlement = settlementOf(customer, {
      upstreamId: `a\0b${'x'.repeat(300)}`,
      finishReason: 'stop\0\ud800',
      firstEventMs: Number.NaN,
      generationTimeMs: -0.4,
      model: '模型"\\{},NULL',
    });
    await db.store.ledger.charge(settlement);
    const found = await db.store.ledger.findGeneration(customer.organizationId, settlement.generationId);
    expect(found).toMatchObject({
      upstreamId: `ab${'x'.repeat(198)}`,
      finishReason: 'stop\ufffd',
      firstEventMs: 0,
      generationTimeMs: 0,
      model: '模型"\\{},NULL',
    });
  });

  it('applies a credit with a reference once, also when operators race', async () => {
    const { administration } = db.store;
    const { organizationId } = await addCustomer(db.store, 0n);
    const entry = { amountNanoUsd: 500n, reference: 'invoice 7' };
    const results = await Promise.all(
      Array.from({ length: 10 }, () => administration.credit(organizationId, entry, BY)),
    );
    expect(results.map(({ kind }) => kind).sort()).toEqual(['applied', ...Array(9).fill('repeated')]);
    expect(await administration.credit(organizationId, { amountNanoUsd: -700n }, BY)).toEqual({
      kind: 'applied',
      balanceNanoUsd: -200n,
    });
    const most = 2n ** 63n - 1n;
    expect(await administration.credit(organizationId, { amountNanoUsd: most }, BY)).toMatchObject({
      kind: 'applied',
    });
    expect(await administration.credit(organizationId, { amountNanoUsd: most }, BY)).toEqual({
      kind: 'out_of_range',
    });
    expect(await administration.credit(`org-${'0'.repeat(26)}`, entry, BY)).toEqual({ kind: 'unknown_organization' });
  });
});

import { describe, expect, it } from 'vitest';
import { chargeNanoUsd } from '#core/pricing.ts';
import { ChargeRefused, type Settlement } from '#database/ledger/ledger.ts';
import { COST, PRICES, USAGE } from '../fixtures/priced-usage.ts';
import { DAY, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';
import { usageOf } from './usage-of.ts';

describe('a charge by a price table', () => {
  const db = withStore({ creditNanoUsd: 10_000_000n });

  const written = (changes: Partial<Settlement> = {}): Settlement =>
    settlementOf(db.customer, { usage: USAGE, prices: PRICES, costNanoUsd: COST, ...changes });
  const differences = async () => (await db.store.administration.verifyLedger()).differences;

  it('stores its counts, prices, tier and price entry, so that the ledger can verify it', async () => {
    expect(chargeNanoUsd(PRICES, USAGE)).toBe(COST);
    const one = written({ serviceTier: 'priority', pricedTier: 'flex', pricedAboveTokens: 99, user: 'ada' });
    await Promise.all([db.store.ledger.charge(one), db.store.ledger.charge(written())]);
    const found = await db.store.ledger.findGeneration(db.customer.organizationId, one.generationId);
    expect(found).toMatchObject({ usage: USAGE, serviceTier: 'priority', costNanoUsd: COST });
    expect(
      await sql(db.url, `select priced_tier, priced_above_tokens from generations where id = '${one.generationId}'`),
    ).toMatchObject([{ priced_tier: 'flex', priced_above_tokens: '99' }]);
    const query = { organizationId: db.customer.organizationId, firstDay: DAY, lastDay: DAY };
    expect(await usageOf(db.store.ledger, { ...query, groupBy: new Set(['user']) })).toEqual(
      expect.arrayContaining([expect.objectContaining({ user: 'ada', usage: USAGE })]),
    );
    expect(await usageOf(db.store.ledger, { ...query, groupBy: new Set() })).toMatchObject([
      { usage: { cacheWriteTokens: 60, cacheWrite1hTokens: 20 } },
    ]);
    expect(await differences()).toEqual([]);
  });

  it.each(['cache_write_tokens', 'cache_write_1h_tokens', 'cache_write_pico_usd', 'cache_write_1h_pico_usd'])(
    'is found if somebody changes its %s',
    async (column) => {
      const { generationId } = written();
      await db.store.ledger.charge(written({ generationId }));
      const change = (by: string) =>
        sql(
          db.url,
          `set session_replication_role = replica; update generations set ${column} = ${column} ${by} where id = '${generationId}'`,
        );
      await change('- 1000');
      expect((await differences()).map(({ rule }) => rule)).toContain(
        'every generation costs what its tokens and prices say, less what was lost',
      );
      await change('+ 1000');
      expect(await differences()).toEqual([]);
    },
  );

  it.each([
    ['more written and cached than read', { cachedTokens: 71 }],
    ['more written for an hour than written', { cacheWrite1hTokens: 31 }],
    ['less than nothing written', { cacheWriteTokens: -1, cacheWrite1hTokens: 0 }],
  ])('is refused with %s', async (_, changes) => {
    const refused = db.store.ledger.charge(written({ usage: { ...USAGE, ...changes } }));
    await expect(refused).rejects.toBeInstanceOf(ChargeRefused);
  });
});

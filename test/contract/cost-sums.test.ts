import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { NO_USAGE } from '#core/pricing.ts';
import { costReport } from '#database/costs/cost-reads.ts';
import { costTable, costTotal } from '#database/costs/cost-table.ts';
import type { UnchargedAttemptRow } from '#database/costs/provider-attempts.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { attemptWith } from '../fixtures/provider-attempt.ts';
import { SILENT, settlementOf, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { withStore } from '../harness/with-store.ts';

/** Sums of the costs of charged and uncharged attempts, by subject and by day. */
const TODAY = Math.floor(Date.now() / DAY_MS);
const DAY = TODAY - 20;
const AT = DAY * DAY_MS + 1000;
const TOKENS = { usage: { ...NO_USAGE, promptTokens: 300 }, source: 'counted' } as const;
const db = withStore();
const pool = opened(async () => new pg.Pool({ connectionString: db.url, max: 1 }));
const log = opened(async () => openRequestLog(db.url, SILENT, PATIENT));

async function charge(atMs: number, changes: Partial<Settlement>): Promise<Settlement> {
  const settlement = settlementOf(db.customer, { generationId: newId('gen', atMs), createdAtMs: atMs, ...changes });
  await db.store.ledger.charge(settlement);
  return settlement;
}

async function attempt(atMs: number, changes: Partial<UnchargedAttemptRow>): Promise<void> {
  const { organizationId } = db.customer;
  const { tokens: _, ...without } = attemptWith({ generationId: newId('gen', atMs), askedAtMs: atMs, organizationId });
  expect(await log.writeAttempts([{ ...without, ...changes }])).toBe(0);
}

/** Revenue and list price of organizations without a price list. */
function same(revenueNanoUsd: bigint) {
  return { revenueNanoUsd, listNanoUsd: revenueNanoUsd };
}

/** The rows of the report for one day by model. */
async function ofDay(day: number) {
  const query = { sinceMs: day * DAY_MS, untilMs: (day + 1) * DAY_MS, by: 'model' } as const;
  return costReport(pool, query);
}

describe('costs of a report', () => {
  it('count charges and uncharged attempts, each once', async () => {
    const charged = await charge(AT, { model: 'a', costNanoUsd: 300n, providerCostNanoUsd: 200n });
    // Repeated charges change nothing, even with another cost.
    await db.store.ledger.charge(charged);
    await db.store.ledger.charge({ ...charged, providerCostNanoUsd: 999n });
    await charge(AT, { model: 'a', costNanoUsd: 100n, providerCostNanoUsd: 0n, user: 'one' });
    const retried = { model: 'a', tokens: TOKENS, costNanoUsd: 40n, reason: 'timeout' } as const;
    const generationId = newId('gen', AT);
    await attempt(AT, { ...retried, generationId });
    await attempt(AT, { ...retried, generationId });
    await attempt(AT, { ...retried, generationId, attempt: 2, costNanoUsd: 5n });
    // An error of the provider costs nothing.
    await attempt(AT, { model: 'a', reason: 'provider_error' });
    // This attempt was recorded as not charged, and its generation was charged after all.
    await attempt(AT, { ...retried, generationId: charged.generationId, reason: 'not_charged', costNanoUsd: 200n });
    expect(await ofDay(DAY)).toEqual([
      { subject: 'a', requests: 2, ...same(400n), costNanoUsd: 245n, lossesNanoUsd: 0n },
    ]);
  });

  it('are unknown if the target of one charge or attempt has no costs', async () => {
    const at = AT + DAY_MS;
    await charge(at, { model: 'b', costNanoUsd: 300n, providerCostNanoUsd: 200n });
    await charge(at, { model: 'b', costNanoUsd: 10n });
    await charge(at, { model: 'c', costNanoUsd: 8n, providerCostNanoUsd: 7n });
    await attempt(at, { model: 'c', tokens: TOKENS, reason: 'broken' });
    await charge(at, { model: 'd', costNanoUsd: 2n, providerCostNanoUsd: 1n });
    // A request without usage costs nothing.
    await charge(at, { model: 'd', costNanoUsd: 0n, usage: NO_USAGE });
    expect(await ofDay(DAY + 1)).toEqual([
      { subject: 'b', requests: 2, ...same(310n), lossesNanoUsd: 0n },
      { subject: 'c', requests: 1, ...same(8n), lossesNanoUsd: 0n },
      { subject: 'd', requests: 2, ...same(2n), costNanoUsd: 1n, lossesNanoUsd: 0n },
    ]);
  });

  it('stay when the attempts are dropped with the request log', async () => {
    const at = AT + 2 * DAY_MS;
    const loss = { reason: 'timeout', amountNanoUsd: 50n } as const;
    await attempt(at, { model: 'e', tokens: TOKENS, costNanoUsd: 40n, reason: 'timeout', loss });
    const before = await ofDay(DAY + 2);
    expect(before).toEqual([{ subject: 'e', requests: 0, ...same(0n), costNanoUsd: 40n, lossesNanoUsd: 50n }]);
    await sql(db.url, 'delete from provider_attempts');
    expect(await ofDay(DAY + 2)).toEqual(before);
  });

  it('have the list price of each charge, by default the charge itself', async () => {
    const at = AT + 4 * DAY_MS;
    const listed = await charge(at, { model: 'g', costNanoUsd: 90n, listNanoUsd: 100n });
    await db.store.ledger.charge({ ...listed, listNanoUsd: 999n });
    await charge(at, { model: 'g', costNanoUsd: 15n, listNanoUsd: 10n, providerCostNanoUsd: 4n, user: 'one' });
    await charge(at, { model: 'g', costNanoUsd: 7n, providerCostNanoUsd: 3n });
    await charge(at, { model: 'h', costNanoUsd: 0n, listNanoUsd: 10n ** 30n, usage: NO_USAGE });
    expect(await ofDay(DAY + 4)).toMatchObject([
      { subject: 'g', requests: 3, revenueNanoUsd: 112n, listNanoUsd: 117n, lossesNanoUsd: 0n },
      { subject: 'h', revenueNanoUsd: 0n, listNanoUsd: 10n ** 18n },
    ]);
    // The first charge has no costs.
    expect((await ofDay(DAY + 4))[0]?.costNanoUsd).toBeUndefined();
  });

  it('above the range of the column do not prevent a charge', async () => {
    const at = AT + 3 * DAY_MS;
    await charge(at, { model: 'f', costNanoUsd: 1n, providerCostNanoUsd: 10n ** 30n });
    expect(await ofDay(DAY + 3)).toMatchObject([{ subject: 'f', revenueNanoUsd: 1n }]);
  });
});

describe('the table of costs', () => {
  const days = { firstDay: DAY - 1, lastDay: DAY + 2 };

  it('has the same sums by day, and a margin if the cost is known', async () => {
    const rows = await costTable(pool, { ...days, groupBy: new Set(['day']) }, 10);
    expect(
      rows.map(({ requests, costNanoUsd, marginNanoUsd, lossesNanoUsd }) => [
        requests,
        costNanoUsd,
        marginNanoUsd,
        lossesNanoUsd,
      ]),
    ).toEqual([
      [0, '40', '-40', '50'],
      [5, undefined, undefined, '0'],
      [2, '245', '155', '0'],
    ]);
    const query = { ...days, lastDay: DAY, groupBy: new Set(['model'] as const) };
    expect(await costTable(pool, query, 10)).toMatchObject([{ model: 'a', costNanoUsd: '245', marginNanoUsd: '155' }]);
    expect(await costTotal(pool, query)).toMatchObject({ costNanoUsd: '245', marginNanoUsd: '155' });
    expect(await costTotal(pool, { ...query, lastDay: DAY + 1 })).not.toHaveProperty('costNanoUsd');
  });
});

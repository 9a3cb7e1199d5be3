import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const db = withStore({ creditNanoUsd: 1_000n });

const monthsAgo = (months: number) => {
  const now = new Date();
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months);
};
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The manual's statements that archive January 2026, for another month. */
function manualFor(firstMs: number, endMs: number): readonly string[] {
  const manual = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const block = manual.split('```').find((text) => text.includes('detach partition generations_2026_01')) ?? '';
  const month = dayOf(firstMs).slice(0, 7).replace('-', '_');
  const statements = [...block.matchAll(/^psql .*? -c "([^"]+)"/gms)].map(([, statement = '']) => statement);
  return statements.map((text) => text.replaceAll('2026_01', month).replaceAll('2026-02-01', dayOf(endMs)));
}

it('a month archived as the manual says leaves no row of its generations and delays no charge', async () => {
  const [firstMs, endMs] = [monthsAgo(3), monthsAgo(2)];
  for (const ms of [firstMs, endMs]) await sql(db.url, `select make_month('generations', '${dayOf(ms)}')`);
  for (const createdAtMs of [firstMs, endMs - 1, endMs, Date.now()]) {
    const at = { generationId: newId('gen', createdAtMs), createdAtMs, day: utcDay(createdAtMs) };
    const costs = { costNanoUsd: 10n, providerCostNanoUsd: 5n };
    await db.store.ledger.charge(settlementOf(db.customer, { ...at, ...costs, user: 'Ann' }));
  }
  const statements = manualFor(firstMs, endMs);
  expect(statements.filter((text) => text.includes('alter table'))).toEqual([expect.stringContaining('lock_timeout')]);
  for (const text of statements) await sql(db.url, text);
  for (const table of ['generations', 'generation_users', 'generation_costs'])
    expect([table, await sql(db.url, `select from ${table}`)]).toEqual([table, [{}, {}]]);
  expect((await db.store.administration.verifyLedger()).differences).toEqual([]);
});

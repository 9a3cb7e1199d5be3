import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CostGroupName } from '#contract/costs.ts';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { idFloor, newId } from '#core/ids.ts';
import { NO_USAGE } from '#core/pricing.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { sumUpCostDays } from '#database/costs/cost-days.ts';
import { costReport } from '#database/costs/cost-reads.ts';
import { costTable } from '#database/costs/cost-table.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { type OpenRequestLog, openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENCE_MS, PATIENT } from '../fixtures/patience.ts';
import { attemptWith } from '../fixtures/provider-attempt.ts';
import { lockWaits, openStore, SILENT, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const TODAY = utcDay(Date.now());
const TOKENS = { usage: { ...NO_USAGE, promptTokens: 300 }, source: 'counted' } as const;

/** Costs of days that are over are summed up, and reports do not need their rows. */
describe('sums of costs by day', () => {
  let pool: pg.Pool;
  let log: OpenRequestLog;
  const db = withStore({ creditNanoUsd: 1_000_000n });
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: db.url, max: 2, options: '-c timezone=UTC' });
    log = openRequestLog(db.url, SILENT, PATIENT);
  });
  afterAll(() => Promise.all([pool?.end(), log?.close()]));
  afterEach(() => void vi.restoreAllMocks());

  async function charge(daysAgo: number, changes: Partial<Settlement> = {}): Promise<Settlement> {
    const [day, atMs] = [TODAY - daysAgo, (TODAY - daysAgo) * DAY_MS + DAY_MS / 2];
    const at = { generationId: newId('gen', atMs), createdAtMs: atMs, day };
    const settlement = settlementOf(db.customer, { ...at, costNanoUsd: 100n, ...changes });
    await db.store.ledger.charge(settlement);
    return settlement;
  }

  async function attempt(settlement: Settlement, reason: 'crash' | 'timeout', costNanoUsd?: bigint): Promise<void> {
    // The clock of a request's arrival may have been wrong until the provider was asked.
    const [{ generationId, organizationId, model, provider }, askedAtMs] = [settlement, Date.now()];
    const loss = { reason: 'timeout', amountNanoUsd: 9n } as const;
    const own = { generationId, organizationId, model, provider, askedAtMs, reason, tokens: TOKENS, loss };
    const row = { ...attemptWith(own), ...(costNanoUsd === undefined ? {} : { costNanoUsd }) };
    expect(await log.writeAttempts([row])).toBe(0);
  }

  const groupings: readonly (readonly CostGroupName[])[] = [
    [],
    ['day', 'model'],
    ['provider'],
    ['day', 'organization'],
  ];
  /** What page and report show, over whole days and parts of them. */
  async function shown(): Promise<readonly unknown[]> {
    const days = { firstDay: TODAY - 12, lastDay: TODAY };
    const tables = groupings.map((groups) => costTable(pool, { ...days, groupBy: new Set(groups) }, 100));
    const range = { sinceMs: (TODAY - 12) * DAY_MS + DAY_MS / 4, untilMs: (TODAY - 3) * DAY_MS + DAY_MS / 4 };
    const reports = [{ sinceMs: -8.64e15 }, range, { sinceMs: range.sinceMs + DAY_MS / 2 }].map((since) =>
      costReport(pool, { ...since, by: 'model' }),
    );
    return Promise.all([...tables, ...reports]);
  }
  async function expectAsByRows(): Promise<void> {
    await sumUpCostDays(pool);
    const bySums = await shown();
    await sql(db.url, `update cost_progress set summed_until = '1970-01-01'`);
    expect(bySums).toEqual(await shown());
    await sumUpCostDays(pool);
    expect(await shown()).toEqual(bySums);
  }
  async function archive(): Promise<void> {
    const kept = `'${idFloor('gen', (TODAY - 1) * DAY_MS)}'`;
    await sql(
      db.url,
      `delete from generation_costs where generation_id < ${kept}; delete from uncharged_costs where generation_id < ${kept};
       delete from generations where id < ${kept}`,
    );
  }
  const summedUntil = async () =>
    (await sql<{ day: number }>(db.url, `select summed_until - date '1970-01-01' as day from cost_progress`))[0]?.day;

  it('show the same as the rows, also after rows that come late', async () => {
    await charge(12, { model: 'a', providerCostNanoUsd: 60n, listNanoUsd: 120n });
    await charge(12, { model: 'a', providerCostNanoUsd: 60n, provider: 'other' });
    const failed = await charge(9, { model: 'b', providerCostNanoUsd: 1n });
    await attempt(failed, 'timeout', 7n);
    await charge(5, { model: 'c' });
    await charge(3, { model: 'c', providerCostNanoUsd: 5n });
    await charge(0, { model: 'c', providerCostNanoUsd: 5n });
    const byRows = await shown();
    await sumUpCostDays(pool);
    expect(await summedUntil()).toBeGreaterThanOrEqual(TODAY - 1);
    expect(await shown()).toEqual(byRows);

    // A request that died: its attempt is recorded late, and its charge even later.
    const dead = settlementOf(db.customer, {
      ...{ generationId: newId('gen', (TODAY - 9) * DAY_MS), createdAtMs: (TODAY - 9) * DAY_MS, day: TODAY - 9 },
      ...{ model: 'b', costNanoUsd: 50n, providerCostNanoUsd: 20n },
    });
    for (const write of [() => attempt(dead, 'crash'), () => db.store.ledger.charge(dead), () => charge(5)]) {
      await write();
      await expectAsByRows();
    }
    const summed = idFloor('gen', (TODAY - 1) * DAY_MS);
    expect(await sql(db.url, `select * from late_costs where generation_id < '${summed}'`)).toEqual([]);
  });

  it('count a cost once that moved to another provider', async () => {
    const [daysAgo, provider] = [8, 'before'];
    const asked = await charge(daysAgo);
    const dead = { ...asked, generationId: newId('gen', asked.createdAtMs), providerCostNanoUsd: 20n };
    await attempt({ ...dead, provider }, 'crash', 20n);
    await sumUpCostDays(pool);
    await db.store.ledger.charge(dead);
    await expectAsByRows();
  });

  it('forget marks for longer than other statements may take', async () => {
    const impatient = createPool(db.url, 1, { connectMs: 2_000, statementMs: 100 }, SILENT);
    await charge(8);
    await sql(
      db.url,
      `create function linger() returns trigger language plpgsql as 'begin perform pg_sleep(0.8); return null; end';
       create trigger linger before delete on late_costs for each statement execute function linger()`,
    );
    await sumUpCostDays(impatient);
    await sql(db.url, 'drop function linger cascade');
    await impatient.end();
  });

  it('use one connection, however long a sum takes, and keep none from other statements', async () => {
    const setTimer = setTimeout;
    const sooner = (work: () => void, ms = 0) => setTimer(work, ms === 600_000 ? 100 : ms);
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(sooner as typeof setTimeout);
    const timeouts = { connectMs: 2_000, statementMs: 3_000 };
    const busy = await openStore(db.url, { timeouts, pool: { idempotency: 1, administration: 2 } });
    const waiting = async (atOnce: number) => expect(await lockWaits(db.url)).toBe(atOnce);
    const client = await pool.connect();
    try {
      await client.query('begin; lock table cost_progress, daily_usage in access exclusive mode');
      await vi.waitFor(() => waiting(1), PATIENCE_MS);
      const { organizationId } = db.customer;
      const usage = { organizationId, firstDay: TODAY, lastDay: TODAY, groupBy: new Set<never>() };
      const read = busy.ledger.usage(usage, () => true);
      await vi.waitFor(() => waiting(2), PATIENCE_MS);
      expect(await busy.ledger.currentEpoch()).toEqual(expect.any(String));
      await waiting(2);
      await client.query('rollback');
      await read;
      await vi.waitFor(() => waiting(0), PATIENCE_MS);
    } finally {
      client.release(true);
      await busy.close();
    }
  });

  it('are summed up again if a late charge is committed while its day is summed up', async () => {
    await sumUpCostDays(pool);
    const client = await pool.connect();
    try {
      const atMs = (TODAY - 7) * DAY_MS;
      const late = settlementOf(db.customer, { generationId: newId('gen', atMs), createdAtMs: atMs, day: TODAY - 7 });
      // Holds the account's lock, so that the charge stays in flight.
      await client.query('begin; select from accounts for update');
      const charged = db.store.ledger.charge(late);
      await sumUpCostDays(pool);
      await client.query('commit');
      await charged;
    } finally {
      client.release();
    }
    await sumUpCostDays(pool);
    const day = { firstDay: TODAY - 7, lastDay: TODAY - 7, groupBy: new Set<CostGroupName>() };
    expect(await costTable(pool, day, 1)).toMatchObject([{ requests: 1 }]);
  });

  it('leave recent days to the rows after the clock of PostgreSQL was ahead', async () => {
    const before = await shown();
    await sql(db.url, `update cost_progress set summed_until = current_date + 40`);
    await sumUpCostDays(pool);
    expect(await shown()).toEqual(before);
    expect(await summedUntil()).toBeLessThanOrEqual(TODAY);
  });

  it('stay when the generations are archived', async () => {
    const before = await shown();
    await archive();
    // The last two reports have parts of days, which are read from the rows.
    expect((await shown()).slice(0, -2)).toEqual(before.slice(0, -2));
    // A mark of an archived day changes nothing either.
    await sql(db.url, `insert into late_costs values ('${newId('gen', (TODAY - 12) * DAY_MS)}')`);
    await sumUpCostDays(pool);
    expect((await shown())[0]).toEqual(before[0]);
  });

  it('of archived generations grow by late rows, each once', async () => {
    const [one, three, failed] = ['archived-1', 'archived-3', 'archived-attempts'];
    for (const model of [one, three, three, three]) await charge(11, { model, providerCostNanoUsd: 60n });
    const asked = { ...(await charge(6)), model: failed };
    const fail = (daysAgo: number, costNanoUsd: bigint) =>
      attempt({ ...asked, generationId: newId('gen', (TODAY - daysAgo) * DAY_MS) }, 'timeout', costNanoUsd);
    await fail(10, 690n);
    await fail(11, 10n);
    await sumUpCostDays(pool);
    await sql(db.url, `delete from generations where id < '${idFloor('gen', (TODAY - 1) * DAY_MS)}'`);
    await charge(11, { model: one, providerCostNanoUsd: 60n });
    await sumUpCostDays(pool);
    // The rest is deleted later, when the dump is safe.
    await archive();
    const models = () =>
      sql(
        db.url,
        `select model, sum(requests)::int as requests, sum(revenue_nano_usd)::int as revenue, sum(cost_nano_usd)::int as cost
         from cost_days where model like 'archived-%' group by model order by model`,
      );
    const sums = (ones: number, threes: number, cost: number) => [
      { model: one, requests: ones, revenue: 100 * ones, cost: 60 * ones },
      { model: three, requests: threes, revenue: 100 * threes, cost: 60 * threes },
      { model: failed, requests: 0, revenue: 0, cost },
    ];
    expect(await models()).toEqual(sums(2, 3, 700));
    const again = await charge(11, { model: one, providerCostNanoUsd: 60n });
    for (let i = 0; i < 4; i++) await charge(11, { model: three, providerCostNanoUsd: 60n });
    await fail(10, 5n);
    await sumUpCostDays(pool);
    expect(await models()).toEqual(sums(3, 7, 705));

    // A repetition is no late row, and rows that were late before are not archived.
    await charge(11, { model: three, providerCostNanoUsd: 60n });
    await fail(10, 3n);
    await sumUpCostDays(pool);
    await db.store.ledger.charge(again);
    await sumUpCostDays(pool);
    expect(await models()).toEqual(sums(3, 8, 708));
  });
});

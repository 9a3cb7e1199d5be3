import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import type { UsageGroup, UsageRow } from '#database/ledger/ledger.ts';
import { readUsage } from '#database/ledger/usage-pages.ts';
import { DAY, SILENT, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';
import { fillUsage } from './fill-usage.ts';
import { usageOf } from './usage-of.ts';

describe('usage in pages', () => {
  const db = withStore({ options: { pool: { administration: 2, idempotency: 1 } } });
  beforeAll(async () => {
    await fillUsage(db.url, db.customer.organizationId, 50, 100);
  });

  const query = (...groups: UsageGroup[]) => ({
    organizationId: db.customer.organizationId,
    firstDay: DAY - 3000,
    lastDay: DAY,
    groupBy: new Set(groups),
  });

  it('has every row once, in order, and exact sums', async () => {
    const rows = await usageOf(db.store.ledger, query('day', 'key'));
    expect(rows.length).toBe(5000);
    const place = ({ day = 0, keyId = '' }: UsageRow) => (DAY - day) * 50 + Number(keyId.slice('key-'.length)) - 1;
    expect(rows.map(place)).toEqual(rows.map((_, index) => index));
    const [total] = await usageOf(db.store.ledger, query());
    expect(total?.costNanoUsd).toBe(rows.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n));
    expect(total?.costNanoUsd).toBe(5_000_000_000_000_127_500n);
  });

  it('comes in small pages of one snapshot, and reads no more than are wanted', async () => {
    const sizes: number[] = [];
    let changed: Promise<unknown> | undefined;
    await db.store.ledger.usage(query('day', 'key'), (rows) => {
      sizes.push(rows.length);
      changed ??= sql(
        db.url,
        `update daily_usage set requests = 1000 where organization_id = '${db.customer.organizationId}'`,
      );
      expect(rows.every(({ requests }) => requests === 1)).toBe(true);
      return true;
    });
    expect(sizes).toEqual([1000, 1000, 1000, 1000, 1000, 0]);
    await changed;
    let pages = 0;
    await db.store.ledger.usage(query('day', 'key'), () => ++pages < 2);
    expect(pages).toBe(2);
    // The connections must be free again.
    const several = await Promise.all([1, 2, 3, 4].map(() => usageOf(db.store.ledger, query('model'))));
    expect(several.map((rows) => rows.length)).toEqual([1, 1, 1, 1]);
  });

  it('may take longer than other statements, but not longer than its own time', async () => {
    const pool = createPool(db.url, 1, { connectMs: 5_000, statementMs: 200 }, SILENT);
    const locker = new pg.Client({ connectionString: db.url });
    await locker.connect();
    try {
      await locker.query('begin; lock table user_usage');
      expect(await readUsage(pool, query('user'), () => true, 400)).toBe(false);
      const cancelled = readUsage(pool, query('user'), () => true);
      const refused = expect(cancelled).rejects.toThrow(StoreUnavailable);
      const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(() => sql(db.url, cancel)).toHaveLength(1);
      await refused;
      const read = readUsage(pool, query('user'), () => true);
      await locker.query('select pg_sleep(1)');
      await locker.query('commit');
      expect(await read).toBe(true);
      // The connection has its own timeout again.
      await expect(pool.query('select pg_sleep(1)')).rejects.toThrow('statement timeout');
    } finally {
      await locker.end();
      await pool.end();
    }
  });
});

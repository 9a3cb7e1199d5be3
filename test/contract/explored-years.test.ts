import { beforeAll, describe, expect, it } from 'vitest';
import type { ExploreFilter } from '#contract/explore-filter.ts';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { exploreView } from '#dashboard/server/routes/explore-view.ts';
import { explore } from '#database/request-log/explore-reads.ts';
import { sumUpRequestDays } from '#database/request-log/request-day-stats.ts';
import { dropOldLog } from '#database/request-log/request-log-partitions.ts';
import { addCustomer, createDatabase, openStore, SILENT, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';

const url = await createDatabase();
const store = opened(() => openStore(url));
const database = opened(async () => openDatabase(url, SILENT));
const TODAY_MS = utcDay(Date.now()) * DAY_MS;
/** Sums are made until yesterday, at any time of the day. */
const KEPT_FROM_MS = TODAY_MS - 401 * DAY_MS;

/** Three years of two requests a day, of which one failed. Sums of requests are kept 400 days. */
describe('the explorer after three years', () => {
  let organizationId = '';

  beforeAll(async () => {
    ({ organizationId } = await addCustomer(store, 0n));
    const own = `'${organizationId}'`;
    const figures = '10, 10, 0, 1000, 0, 0, array_fill(0::bigint, array[11])';
    await sql(
      url,
      `insert into daily_usage select ${own}, current_date - d, 'key', 'm', 1, 10, 10, 0, 0, 0, 0, 1000 from generate_series(1, 1100) d;
       insert into request_stats select ${own}, (current_date - d)::timestamp at time zone 'UTC', 'key', 'm', code, 'p', 200, false, 1, ${figures}
         from generate_series(1, 1100) d, unnest(array['', 'timeout']) code`,
    );
    await sumUpRequestDays(database, TODAY_MS - 1.5 * DAY_MS);
    // Sums up another day, and deletes what is older than 400.
    await sumUpRequestDays(database, TODAY_MS - DAY_MS / 2);
    await dropOldLog(database, Date.now(), 30 * DAY_MS, SILENT);
  });

  const view = async (fromDaysAgo: number, toDaysAgo: number, filter: ExploreFilter = {}) => {
    const range = { fromMs: TODAY_MS - fromDaysAgo * DAY_MS, toMs: TODAY_MS - toDaysAgo * DAY_MS };
    return exploreView(await explore(database, { organizationId, ...range, by: 'none', compare: true, filter }), false);
  };

  it('compares a range only with one whose sums are all kept', async () => {
    for (const filter of [{}, { outcome: 'failed' } as const]) {
      const half = await view(200, 0, filter);
      expect(half.before?.totals.requests).toBe(half.totals.requests);
      const year = await view(365, 0, filter);
      expect([year.totals.failures, year.before, year.partial]).toEqual([365, undefined, undefined]);
    }
  });

  it('reports since when figures are complete, and keeps the money of the ledger', async () => {
    const partly = await view(410, 380);
    expect(partly.partial).toEqual({ completeFromMs: KEPT_FROM_MS });
    expect(partly.totals).toMatchObject({ requests: 42, costNanoUsd: '30000' });
    const before = await view(600, 500);
    expect(before.partial).toEqual({ completeFromMs: KEPT_FROM_MS });
    expect(before.totals).toMatchObject({ requests: 0, costNanoUsd: '100000' });
    // By the hour and by the minute.
    expect((await view(502, 500)).partial?.completeFromMs).toBeGreaterThan(TODAY_MS - 500 * DAY_MS);
    expect((await view(500.01, 500)).partial?.completeFromMs).toBeGreaterThan(TODAY_MS - 500 * DAY_MS);
  });
});

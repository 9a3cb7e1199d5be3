import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Overview, OverviewGroup, OverviewRange } from '#contract/organization.ts';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { overviewOf, overviewPeriod } from '#dashboard/server/routes/overview-view.ts';
import { readOverview } from '#database/process-reports/overview-reads.ts';
import { sumUpRequestDays } from '#database/request-log/request-day-stats.ts';
import type { RequestLogRow } from '#database/request-log/request-log-store.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { rowWith } from '../fixtures/request-log-row.ts';
import { addCustomer, addKey, type Customer, createDatabase, openStore, settlementOf } from '../harness/database.ts';
import { usageOf } from './usage-of.ts';

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };
const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 20, 13, 30);

describe('the overview', () => {
  let database: ReturnType<typeof openDatabase>;
  let close: () => Promise<unknown> = async () => undefined;
  let customer: Customer;
  let secondKey = '';
  let log: ReturnType<typeof openRequestLog>;
  let store: Awaited<ReturnType<typeof openStore>>;

  beforeAll(async () => {
    const url = await createDatabase();
    store = await openStore(url);
    log = openRequestLog(url, LOG, PATIENT);
    database = openDatabase(url, LOG);
    close = () => Promise.all([store.close(), log.close(), database.end()]);
  });
  afterAll(() => close());

  async function newCustomer(): Promise<void> {
    customer = await addCustomer(store, 1_000_000_000n);
    secondKey = (await addKey(store, customer.organizationId)).keyId;
  }

  function logged(agoMs: number, changes: Partial<RequestLogRow> = {}): RequestLogRow {
    const { organizationId, keyId } = customer;
    return rowWith({ arrivedAtMs: NOW_MS - agoMs, organizationId, keyId, ...changes });
  }

  const refused = {
    code: 'rpm_exceeded',
    status: 429,
    usage: undefined,
    costNanoUsd: undefined,
    firstEventMs: undefined,
  };

  async function overview(range: OverviewRange, by: OverviewGroup = 'model'): Promise<Overview> {
    const period = overviewPeriod(customer.organizationId, range, by, NOW_MS);
    return overviewOf(range, period, await readOverview(database, period));
  }

  it.each([
    ['24h', 24, HOUR_MS, Date.UTC(2026, 10, 20, 13)],
    ['7d', 28, 6 * HOUR_MS, Date.UTC(2026, 10, 20, 12)],
    ['30d', 30, DAY_MS, Date.UTC(2026, 10, 20)],
  ] as const)('of %s has %i whole steps, of which the last is under way', async (range, count, stepMs, last) => {
    await newCustomer();
    const { stepStartsMs, series, totals } = await overview(range);
    expect(stepStartsMs).toHaveLength(count);
    expect(stepStartsMs.at(-1)).toBe(last);
    expect(stepStartsMs[0]).toBe(last - (count - 1) * stepMs);
    expect(series).toEqual([]);
    expect(totals).toEqual({
      costNanoUsd: '0',
      requests: 0,
      failures: 0,
      promptTokens: 0,
      completionTokens: 0,
      failureCodes: [],
    });
  });

  it('sums up by hour what was logged, beside the range before', async () => {
    await newCustomer();
    await log.write([
      logged(0),
      logged(HOUR_MS, { costNanoUsd: 250n }),
      logged(HOUR_MS, { model: 'large', costNanoUsd: 900n }),
      logged(23 * HOUR_MS, refused),
      logged(2 * HOUR_MS, { ...refused, code: 'invalid_request', model: 'no such model', modelKnown: false }),
      // One request of the range before, and one of no range.
      logged(24 * HOUR_MS, { costNanoUsd: 7n }),
      logged(47 * HOUR_MS, refused),
      logged(48 * HOUR_MS),
    ]);
    const { series, totals, before } = await overview('24h');
    expect(series.map(({ id, label }) => [id, label])).toEqual([
      ['large', 'large'],
      ['gpt-5-mini', 'gpt-5-mini'],
      [undefined, 'Other'],
    ]);
    const [large, mini, other] = series;
    expect(large?.costNanoUsd.slice(-3)).toEqual(['0', '900', '0']);
    expect(mini?.costNanoUsd.slice(-3)).toEqual(['0', '250', '100']);
    expect(mini?.tokens.slice(-3)).toEqual([0, 37, 37]);
    expect(mini?.requests[0]).toBe(1);
    expect(other?.requests.slice(-3)).toEqual([1, 0, 0]);
    expect(totals).toEqual({
      costNanoUsd: '1250',
      requests: 5,
      failures: 2,
      promptTokens: 90,
      completionTokens: 21,
      // All three in the bucket up to 200 ms.
      firstEventP50Ms: 150,
      firstEventP95Ms: 195,
      failureCodes: expect.arrayContaining([
        { code: 'rpm_exceeded', requests: 1 },
        { code: 'invalid_request', requests: 1 },
      ]),
    });
    expect(before).toMatchObject({ costNanoUsd: '7', requests: 2, failures: 1 });
  });

  it('takes money and tokens by day from the ledger, whatever the log has lost', async () => {
    await newCustomer();
    const today = utcDay(NOW_MS);
    await log.write([logged(0, { costNanoUsd: 5n })]);
    await store.ledger.charge(settlementOf(customer, { day: today, costNanoUsd: 100n }));
    await store.ledger.charge(settlementOf(customer, { day: today - 29, costNanoUsd: 30n, model: 'large' }));
    await store.ledger.charge(settlementOf(customer, { day: today - 30, costNanoUsd: 4n }));
    const { series, totals, before } = await overview('30d');
    expect(series.map(({ id }) => id)).toEqual(['gpt-5-mini', 'large']);
    expect(series[0]?.costNanoUsd.at(-1)).toBe('100');
    expect(series[0]?.requests.at(-1)).toBe(1);
    expect(series[0]?.tokens.at(-1)).toBe(37);
    expect(series[1]?.costNanoUsd[0]).toBe('30');
    expect(totals).toMatchObject({ costNanoUsd: '130', requests: 1, promptTokens: 60, completionTokens: 14 });
    expect(before).toMatchObject({ costNanoUsd: '4', requests: 0, promptTokens: 30 });
    const usage = await usageOf(store.ledger, {
      organizationId: customer.organizationId,
      firstDay: today - 29,
      lastDay: today,
      groupBy: new Set(),
    });
    expect(usage[0]?.costNanoUsd).toBe(130n);
  });

  it('of a month is the same before and after its days are summed up, and needs their hours no more', async () => {
    await newCustomer();
    const days = Array.from({ length: 70 }, (_, day) => day);
    for (const hours of [0, 4, 13, 19]) {
      await log.write(days.flatMap((day) => [logged(day * DAY_MS + hours * HOUR_MS, { model: `model-${hours}` })]));
    }
    await log.write(days.map((day) => logged(day * DAY_MS, { ...refused, code: `code_${day % 3}` })));
    const [byModel, byKey] = [await overview('30d', 'model'), await overview('30d', 'key')];
    const short = [await overview('24h'), await overview('7d')];
    expect(byModel.totals).toMatchObject({ requests: 149, failures: 30, firstEventP50Ms: 150 });
    expect(byModel.before.requests).toBe(150);
    await Promise.all([1, 2, 3].map(() => sumUpRequestDays(database, NOW_MS)));
    // These begin in the middle of a day.
    expect([await overview('24h'), await overview('7d')]).toEqual(short);
    // All but those of today.
    const { rows } = await database.query<{ sum: string }>(
      'select sum(requests) from request_day_stats where organization_id = $1 and day < $2',
      [customer.organizationId, '2026-11-20'],
    );
    expect(rows[0]?.sum).toBe(String(5 * 70 - 4));
    await database.query('delete from request_stats where organization_id = $1 and hour < $2', [
      customer.organizationId,
      new Date(utcDay(NOW_MS) * DAY_MS),
    ]);
    expect(await overview('30d', 'model')).toEqual(byModel);
    expect(await overview('30d', 'key')).toEqual(byKey);
    // Rows of a day that is not summed up yet count at once.
    await log.write([logged(0)]);
    expect((await overview('30d')).totals.requests).toBe(150);
    await sumUpRequestDays(database, NOW_MS);
    expect((await overview('30d')).totals.requests).toBe(150);
  });

  it('names keys, and sums up what comes after the eight largest', async () => {
    await newCustomer();
    await log.write([
      ...Array.from({ length: 11 }, (_, i) => logged(0, { model: `model-${i}`, costNanoUsd: BigInt(1_000 - i) })),
      logged(0, { keyId: secondKey, model: 'model-0', costNanoUsd: 1n }),
    ]);
    const byModel = await overview('7d', 'model');
    expect(byModel.series.map(({ label }) => label)).toEqual([
      ...Array.from({ length: 8 }, (_, i) => `model-${i}`),
      'Other',
    ]);
    expect(byModel.series.at(-1)?.costNanoUsd.at(-1)).toBe(String(992 + 991 + 990));
    expect(byModel.series.at(-1)?.requests.at(-1)).toBe(3);
    const byKey = await overview('7d', 'key');
    expect(byKey.series.map(({ id, label }) => [id, label])).toEqual([
      [customer.keyId, 'test'],
      [secondKey, 'test'],
    ]);
    expect(byKey.series[1]?.costNanoUsd.at(-1)).toBe('1');
  });

  it('shows nothing of another organization', async () => {
    await newCustomer();
    await log.write([logged(0)]);
    await store.ledger.charge(settlementOf(customer, { day: utcDay(NOW_MS) }));
    await newCustomer();
    for (const range of ['24h', '7d', '30d'] as const) {
      const { series, totals } = await overview(range, 'key');
      expect(series).toEqual([]);
      expect(totals).toMatchObject({ requests: 0, costNanoUsd: '0' });
    }
  });

  // The last one here: what is logged of the days before today is not looked at any more.
  it('has its days summed up by gateway processes, once they have been over for hours', async () => {
    log.keepTidy(() => 400 * DAY_MS);
    const settled = utcDay(Date.now() - 6 * HOUR_MS);
    const read = () =>
      database.query<{ day: number }>("select summed_until - date '1970-01-01' as day from request_days");
    await expect.poll(async () => (await read()).rows[0]?.day).toBeGreaterThanOrEqual(settled);
    expect((await read()).rows[0]?.day).toBeLessThanOrEqual(utcDay(Date.now()));
  });
});

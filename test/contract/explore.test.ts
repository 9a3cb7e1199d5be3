import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Explore, type ExploreGrouping, STATUS_CLASSES } from '#contract/explore.ts';
import type { ExploreFilter } from '#contract/explore-filter.ts';
import { DAY_MS, MINUTE_MS, utcDay } from '#core/clock.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { exploreView } from '#dashboard/server/routes/explore-view.ts';
import { explore } from '#database/request-log/explore-reads.ts';
import { sumUpRequestDays } from '#database/request-log/request-day-stats.ts';
import { dropOldLog } from '#database/request-log/request-log-partitions.ts';
import type { RequestLogRow } from '#database/request-log/request-log-row.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { rowWith } from '../fixtures/request-log-row.ts';
import { addCustomer, addKey, type Customer, SILENT, settlementOf } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { withStore } from '../harness/with-store.ts';

const db = withStore({ creditNanoUsd: 0n });
const log = opened(async () => openRequestLog(db.url, SILENT, PATIENT));
const database = opened(async () => openDatabase(db.url, SILENT));
const END_MS = utcDay(Date.now()) * DAY_MS;
/** A range with hours, and with days that have sums. */
const SPAN_MS = 40 * DAY_MS;
const HOUR_MS = 60 * MINUTE_MS;

describe('the explorer', () => {
  let one = '';
  let other: Customer;
  let keys: readonly string[] = [];
  let entries: RequestLogRow[] = [];

  beforeAll(async () => {
    const { organizationId, keyId } = db.customer;
    const more = [await addKey(db.store, organizationId), await addKey(db.store, organizationId)];
    [one, keys] = [organizationId, [keyId, ...more.map((key) => key.keyId)]];
    other = await addCustomer(db.store, 0n);
    entries = Array.from({ length: 1_500 }, (_, i) => entryNumber(i));
    for (let i = 0; i < entries.length; i += 500) await log.write(entries.slice(i, i + 500));
    await sumUpRequestDays(database, END_MS - 3 * DAY_MS);
  });

  /** An entry, most of which are in the last two days. The periods of all fields differ. */
  function entryNumber(i: number): RequestLogRow {
    const failed = i % 7 === 3;
    const charged = {
      usage: undefined,
      costNanoUsd: undefined,
      providerCostNanoUsd: undefined,
      firstEventMs: undefined,
    };
    return rowWith({
      arrivedAtMs: END_MS - 1 - (i % 3 === 0 ? (i * SPAN_MS) / 1_500 : (i * 2 * DAY_MS) / 1_500),
      ...(i % 11 === 0 ? other : { organizationId: one, keyId: keys[i % 3] ?? '' }),
      model: ['small', 'large', 'invented'][i % 5] ?? 'small',
      modelKnown: i % 5 !== 2,
      provider: failed ? undefined : ['openai', 'mistral'][i % 2],
      streamed: i % 4 === 0,
      user: ['ada', 'bob', undefined][i % 13] ?? undefined,
      metadata: i % 6 === 0 ? undefined : `{"team":"${['red', 'blue'][i % 17] ?? 'green'}","env":"${i % 2}"}`,
      costNanoUsd: BigInt(i),
      providerCostNanoUsd: i % 9 === 0 ? undefined : BigInt(i >> 1),
      firstEventMs: (i * 37) % 9_000,
      durationMs: i * 3,
      ...(failed ? { ...charged, code: i % 2 ? 'rpm_exceeded' : 'upstream_error', status: i % 2 ? 429 : 502 } : {}),
    });
  }

  const groupOf = (entry: RequestLogRow, by: ExploreGrouping): string => {
    const { status, metadata } = entry;
    if (by.startsWith('metadata.')) return JSON.parse(metadata ?? '{}')[by.slice(9)] ?? '';
    const groups = {
      none: '',
      key: entry.keyId,
      model: entry.modelKnown ? (entry.model ?? '') : '',
      code: entry.code ?? '',
      status: `${Math.floor(status / 100)}xx`,
      user: entry.user ?? '',
      provider: entry.provider ?? '',
      organization: entry.organizationId,
    };
    return groups[by as keyof typeof groups];
  };

  function matches(entry: RequestLogRow, filter: ExploreFilter): boolean {
    const in_ = (list: readonly string[] | undefined, by: ExploreGrouping) =>
      list === undefined || list.includes(groupOf(entry, by));
    const byName = Map.groupBy(filter.metadata ?? [], (text) => text.split('=')[0] ?? '');
    return (
      in_(filter.keys, 'key') &&
      in_(filter.models, 'model') &&
      in_(filter.codes, 'code') &&
      in_(filter.statusClasses, 'status') &&
      in_(filter.users, 'user') &&
      in_(filter.providers, 'provider') &&
      [...byName].every(([name, texts]) => texts.includes(`${name}=${groupOf(entry, `metadata.${name}`)}`)) &&
      (filter.streamed === undefined || filter.streamed === entry.streamed) &&
      (filter.outcome === undefined || (filter.outcome === 'failed') === (entry.code !== undefined)) &&
      (filter.minCostNanoUsd === undefined || (entry.costNanoUsd ?? -1n) >= BigInt(filter.minCostNanoUsd)) &&
      (filter.minDurationMs === undefined || entry.durationMs >= filter.minDurationMs)
    );
  }

  function figures(of: readonly RequestLogRow[]) {
    const sum = (read: (entry: RequestLogRow) => number | bigint | undefined) =>
      of.reduce((total, entry) => total + Number(read(entry) ?? 0), 0);
    return {
      requests: of.length,
      failures: of.filter(({ code }) => code !== undefined).length,
      costNanoUsd: String(sum(({ costNanoUsd }) => costNanoUsd)),
      promptTokens: sum(({ usage }) => usage?.promptTokens),
      completionTokens: sum(({ usage }) => usage?.completionTokens),
      cachedTokens: sum(({ usage }) => usage?.cachedTokens),
      providerCostNanoUsd: String(sum((entry) => entry.providerCostNanoUsd)),
      knownRevenueNanoUsd: String(
        sum(({ costNanoUsd, providerCostNanoUsd }) => (providerCostNanoUsd === undefined ? 0 : costNanoUsd)),
      ),
    };
  }

  /** The tokens per second, computed from rows. */
  function speed(of: readonly RequestLogRow[]): number | undefined {
    const timed = of.filter(({ streamed, code, usage, durationMs, firstEventMs = Infinity }) => {
      return streamed && code === undefined && (usage?.completionTokens ?? 0) > 0 && durationMs > firstEventMs;
    });
    const tokens = timed.reduce((sum, { usage }) => sum + (usage?.completionTokens ?? 0), 0);
    const ms = timed.reduce((sum, { durationMs, firstEventMs = 0 }) => sum + durationMs - firstEventMs, 0);
    return timed.length === 0 ? undefined : (tokens * 1000) / ms;
  }

  const some = <Value>(...values: Value[]) => fc.subarray(values, { minLength: 1, maxLength: 2 });
  const filters = () => {
    const all = fc.record({
      keys: some(...keys, other.keyId),
      models: some('small', 'large', ''),
      codes: some('rpm_exceeded', 'upstream_error', ''),
      statusClasses: some(...STATUS_CLASSES),
      outcome: fc.constantFrom('succeeded' as const, 'failed' as const),
      users: some('ada', 'bob', ''),
      metadata: some('team=red', 'team=green', 'env=1', 'team=', 'size='),
      providers: some('openai', 'mistral', ''),
      streamed: fc.boolean(),
      minCostNanoUsd: fc.constantFrom('0', '700'),
      minDurationMs: fc.constantFrom(0, 2_000),
    });
    const names = ['keys', 'models', 'codes', 'statusClasses', 'outcome', 'users', 'metadata', 'providers', 'streamed'];
    return fc
      .tuple(all, fc.subarray([...names, 'minCostNanoUsd', 'minDurationMs'], { maxLength: 2 }))
      .map(
        ([filter, chosen]): ExploreFilter =>
          Object.fromEntries(Object.entries(filter).filter(([name]) => chosen.includes(name))),
      );
  };
  const groupings: ExploreGrouping[] = ['none', 'key', 'model', 'code', 'status', 'user', 'provider', 'metadata.team'];

  it('agrees with the requests, from whatever source it reads', async () => {
    const [ranges, organizations] = [
      [0.3, 5, 30, 70, 600, 960],
      [one, undefined],
    ];
    await fc.assert(
      fc.asyncProperty(
        filters(),
        fc.constantFrom(...groupings, 'organization' as const),
        fc.constantFrom(...ranges),
        fc.constantFrom(...organizations),
        async (filter, by, hours, organizationId) => {
          const asked = { by, filter, compare: true, fromMs: END_MS - hours * HOUR_MS, toMs: END_MS };
          const explored = await explore(database, {
            ...asked,
            ...(organizationId === undefined ? {} : { organizationId }),
          });
          // These requests have no charges in the ledger, from which days take their money.
          fc.pre(explored.source !== 'days_of_ledger');
          const view = exploreView(explored, true);
          const [startMs = 0] = view.stepStartsMs;
          const own = entries.filter(
            (entry) => entry.organizationId === (organizationId ?? entry.organizationId) && matches(entry, filter),
          );
          const inside = own.filter(({ arrivedAtMs }) => arrivedAtMs >= startMs);
          const lengthMs = END_MS - startMs;
          const before = own.filter(({ arrivedAtMs }) => arrivedAtMs < startMs && arrivedAtMs >= startMs - lengthMs);
          expect(view.partial).toBeUndefined();
          expect(view.totals).toMatchObject(figures(inside));
          expect(view.totals.tokensPerSecond).toBe(explored.source === 'rows' ? speed(inside) : undefined);
          expect(view.before?.totals).toMatchObject(figures(before));
          const byGroup = Map.groupBy(inside, (entry) => groupOf(entry, by));
          expect(new Map(view.groups.map(({ id, totals }) => [id, totals]))).toEqual(
            new Map([...byGroup].map(([id, of]) => [id, expect.objectContaining(figures(of))])),
          );
          const step = (entry: RequestLogRow) => Math.floor((entry.arrivedAtMs - startMs) / view.stepMs);
          for (const { id, steps } of view.series) {
            const ofGroup = byGroup.get(id ?? '') ?? [];
            expect(steps.requests).toEqual(
              view.stepStartsMs.map((_, i) => ofGroup.filter((e) => step(e) === i).length),
            );
          }
        },
      ),
      { numRuns: propertyRuns(150) },
    );
  }, 90_000);

  const view = async (query: Partial<Parameters<typeof explore>[1]>, mostRows?: number, showsMargin = false) => {
    const asked = { by: 'none' as const, filter: {}, compare: false, fromMs: END_MS - DAY_MS, toMs: END_MS };
    return exploreView(await explore(database, { ...asked, ...query }, mostRows), showsMargin);
  };

  it('reports since when its figures are complete if there are too many rows, and prefers sums', async () => {
    const [fromMs, minDurationMs] = [END_MS - 6 * HOUR_MS, 1];
    for (const organizationId of [one, undefined]) {
      const scope = organizationId === undefined ? {} : { organizationId };
      const all: Explore = await view({ ...scope, fromMs, filter: { minDurationMs } });
      const some = await view({ ...scope, fromMs, filter: { minDurationMs }, compare: true }, 60);
      const completeFromMs = some.partial?.completeFromMs ?? 0;
      const first = some.stepStartsMs.indexOf(completeFromMs);
      expect(first).toBeGreaterThan(0);
      const requests = (of: Explore) => of.series[0]?.steps.requests.slice(first);
      expect(requests(some)).toEqual(requests(all));
      expect(some.totals.requests).toBeLessThan(all.totals.requests);
      expect(some.before).toBeUndefined();
      const summed = await view({ ...scope, fromMs }, 60);
      expect(summed).toMatchObject({ stepMs: HOUR_MS, totals: { requests: entriesSince(fromMs, organizationId) } });
    }
  });

  const entriesSince = (fromMs: number, organizationId?: string) =>
    entries.filter(
      (entry) => entry.arrivedAtMs >= fromMs && entry.organizationId === (organizationId ?? entry.organizationId),
    ).length;

  it('takes the money of days and of end users from the ledger, and counts omitted requests', async () => {
    const customer: Customer = await addCustomer(db.store, 1_000_000_000n);
    const { organizationId, keyId } = customer;
    const today = utcDay(END_MS) - 1;
    await db.store.ledger.charge(settlementOf(customer, { day: today, costNanoUsd: 100n, user: 'ada' }));
    await db.store.ledger.charge(settlementOf(customer, { day: today - 29, costNanoUsd: 30n }));
    const minute = END_MS / MINUTE_MS - 5;
    const omitted = { organizationId, keyId, minute, model: '', code: 'key_revoked', status: 401, requests: 9 };
    await log.writeOmitted([{ ...omitted, lastAtMs: END_MS, address: '192.0.2.1' }]);
    await log.write([rowWith({ organizationId, keyId, arrivedAtMs: END_MS - MINUTE_MS, costNanoUsd: 5n })]);
    const fromMs = END_MS - 30 * DAY_MS;
    const days = await view({ organizationId, fromMs, by: 'key' });
    expect(days.groups).toMatchObject([
      { id: keyId, label: 'test', totals: { costNanoUsd: '130', requests: 10, failures: 9 } },
    ]);
    const users = await view({ organizationId, fromMs, by: 'user' }, 1);
    expect(users.chargedOnly).toBe(true);
    expect(users.groups.map(({ id, totals }) => [id, totals.costNanoUsd, totals.requests])).toEqual([
      ['ada', '100', 1],
      ['', '30', 1],
    ]);
    expect((await view({ organizationId, fromMs: END_MS - HOUR_MS, by: 'code' })).groups).toMatchObject([
      { id: '', totals: { requests: 1, costNanoUsd: '5' } },
      { id: 'key_revoked', totals: { requests: 9, failures: 9 } },
    ]);
  });

  it('shows the costs of providers only to operators', async () => {
    expect(JSON.stringify(await view({ organizationId: one }))).not.toMatch(/provider|Revenue/i);
    expect((await view({ by: 'organization' }, undefined, true)).totals.providerCostNanoUsd).not.toBe('0');
  });

  it('uses sums for days whose requests were dropped, and reports if it has none', async () => {
    const customer: Customer = await addCustomer(db.store, 1_000_000_000n);
    const { organizationId, keyId } = customer;
    for (const daysAgo of [1, 20]) {
      const arrivedAtMs = END_MS - daysAgo * DAY_MS + HOUR_MS;
      const charged = { costNanoUsd: 7n, user: 'ada' };
      await log.write([rowWith({ organizationId, keyId, arrivedAtMs, ...charged })]);
      await db.store.ledger.charge(settlementOf(customer, { day: utcDay(arrivedAtMs), ...charged }));
    }
    await dropOldLog(database, END_MS, 10 * DAY_MS, SILENT);
    for (const scope of [{ organizationId }, { filter: { keys: [keyId] } }]) {
      const fromMs = END_MS - 20 * DAY_MS;
      const cost = async (query: Partial<Parameters<typeof explore>[1]>) => {
        const { totals, partial, chargedOnly } = await view({ ...scope, fromMs, ...query });
        return [totals.costNanoUsd, partial !== undefined, chargedOnly ?? false];
      };
      expect(await cost({ toMs: fromMs + 2 * HOUR_MS })).toEqual(['7', false, false]);
      expect(await cost({ by: 'user' })).toEqual(['14', false, true]);
      expect(await cost({ by: 'metadata.team' })).toEqual(['7', true, false]);
      expect(await cost({ by: 'user', fromMs: END_MS - 2 * DAY_MS })).toEqual(['7', false, false]);
      const recent = await view({ ...scope, fromMs: END_MS - 10 * DAY_MS, by: 'metadata.team', compare: true });
      expect([recent.partial, recent.before]).toEqual([undefined, undefined]);
    }
    // The rows of all organizations are counted by sums, which include the dropped requests.
    const query = { fromMs: END_MS - 20 * DAY_MS, by: 'metadata.team' } as const;
    const all = await view(query);
    expect(await view(query, all.totals.requests + 5)).toMatchObject({ partial: all.partial, totals: all.totals });
  });
});

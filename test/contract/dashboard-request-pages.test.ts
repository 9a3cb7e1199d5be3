import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { STATUS_CLASSES } from '#contract/explore.ts';
import type { RequestFilter } from '#contract/request-log.ts';
import { idMoment, newId } from '#core/ids.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { findEveryRequest } from '#database/request-log/every-request.ts';
import { requestDetail } from '#database/request-log/request-columns.ts';
import type { RequestLogRow } from '#database/request-log/request-log-row.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { findRequest, searchRequests } from '#database/request-log/request-lookups.ts';
import { findRequests } from '#database/request-log/request-pages.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { rowWith } from '../fixtures/request-log-row.ts';
import { addKey, createDatabase, openStore, SILENT } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';

const url = await createDatabase();
const store = opened(() => openStore(url));
const log = opened(async () => openRequestLog(url, SILENT, PATIENT));
const database = opened(async () => openDatabase(url, SILENT));
const HOUR_MS = 3_600_000;
const statusClassOf = (status: number) =>
  status === 499 ? '499' : (`${Math.floor(status / 100)}xx` as '2xx' | '4xx' | '5xx');
/** Longer than the range of the first step. */
const SPAN_MS = 100 * HOUR_MS;
const START_MS = Date.UTC(2026, 10, 18, 12);
const MODELS = ['small', 'large', undefined];
/** Status and code of requests: served, broken stream, two refusals, client disconnected. */
const ENDS = [
  [200, undefined],
  [200, 'upstream_error'],
  [401, 'key_revoked'],
  [429, 'rpm_exceeded'],
  [499, undefined],
] as const;
/** Rows that a page scans in its first step. */
const FIRST_STEP_ROWS = 2_000;
/** More than the first step scans, so that pages need several steps. */
const ENTRIES = 4_500;

describe('the request log by pages', () => {
  let entries: RequestLogRow[] = [];
  const [organizationId, otherId] = [newId('org', 1), newId('org', 2)];
  let keys: string[] = [];
  let otherKeys: string[] = [];

  beforeAll(async () => {
    for (const id of [organizationId, otherId]) {
      const organization = { id, name: 'test', ...DEFAULT_RULES };
      await store.administration.createOrganization(organization, { actor: 'test' });
    }
    keys = [(await addKey(store, organizationId)).keyId, (await addKey(store, organizationId)).keyId];
    otherKeys = [(await addKey(store, otherId)).keyId];
    entries = Array.from({ length: ENTRIES }, (_, i) => entryNumber(i)).sort((a, b) => (a.id < b.id ? 1 : -1));
    for (let i = 0; i < ENTRIES; i += 500) {
      expect(await log.write(entries.slice(i, i + 500))).toBe(0);
    }
  });

  /**
   * An entry, spread over 100 hours and several partitions. Every tenth belongs to the other
   * organization. The periods of all fields differ.
   */
  function entryNumber(i: number): RequestLogRow {
    const isOther = i % 10 === 9;
    const ownKeys = isOther ? otherKeys : keys;
    const [status, code] = ENDS[i % 53 === 0 ? 3 : (i % 7) % 3 === 0 ? 0 : i % ENDS.length] ?? ENDS[0];
    const model = MODELS[(i >> 2) % MODELS.length];
    return rowWith({
      arrivedAtMs: START_MS + Math.floor((i * SPAN_MS) / ENTRIES),
      organizationId: isOther ? otherId : organizationId,
      keyId: ownKeys[i % 11 === 0 ? 0 : ownKeys.length - 1] ?? '',
      requestId: crypto.randomUUID(),
      model,
      modelKnown: model !== undefined,
      status,
      code,
    });
  }

  function expected(organization: string, filter: RequestFilter): string[] {
    const { fromMs = 0, toMs = Number.POSITIVE_INFINITY, keys: ofKeys, models, outcome, statusClasses, codes } = filter;
    const oneOf = <Value>(list: readonly Value[] | undefined, value: Value) =>
      list === undefined || list.includes(value);
    return entries
      .filter(
        (entry) =>
          entry.organizationId === organization &&
          entry.arrivedAtMs >= fromMs &&
          entry.arrivedAtMs < toMs &&
          oneOf(ofKeys, entry.keyId) &&
          oneOf(models, entry.model ?? '') &&
          oneOf(statusClasses, statusClassOf(entry.status)) &&
          oneOf(codes, entry.code ?? '') &&
          (outcome === undefined || outcomeOf(entry) === outcome),
      )
      .map(({ id }) => id);
  }

  const outcomeOf = ({ status, code }: RequestLogRow) =>
    code !== undefined ? 'failed' : status < 400 ? 'succeeded' : 'neither';

  async function allPages(organization: string, filter: RequestFilter, limit: number, patienceMs?: number) {
    const found: string[] = [];
    let before: string | undefined;
    for (let pages = 0; pages < 2 * ENTRIES; pages++) {
      const query = { organizationId: organization, ...filter, ...(before === undefined ? {} : { before }), limit };
      const page = await findRequests(database, query, patienceMs);
      found.push(...page.rows.map(({ id }) => id));
      if (page.next === undefined) return found;
      // Only a page with `searchedToMs` may be short.
      if (page.searchedToMs === undefined) expect(page.rows).toHaveLength(limit);
      expect(before === undefined || page.next < before).toBe(true);
      before = page.next;
    }
    throw new Error('the pages do not end');
  }

  const some = <Value>(...values: Value[]) => fc.subarray(values, { minLength: 1, maxLength: 2 });

  /** Combines at most three filters, because with all of them almost nothing matches. */
  const filters = () => {
    const moment = fc.integer({ min: START_MS, max: START_MS + SPAN_MS });
    const all = fc.record({
      fromMs: moment,
      toMs: moment,
      keys: some(...keys, ...otherKeys, newId('key', 1)),
      models: some('small', 'large', 'none', ''),
      outcome: fc.constantFrom('succeeded' as const, 'failed' as const),
      statusClasses: some(...STATUS_CLASSES),
      codes: some('upstream_error', 'key_revoked', 'rpm_exceeded', 'none', ''),
    });
    const names = ['fromMs', 'toMs', 'keys', 'models', 'outcome', 'statusClasses', 'codes'];
    return fc
      .tuple(all, fc.subarray(names, { maxLength: 3 }))
      .map(
        ([filter, chosen]): RequestFilter =>
          Object.fromEntries(Object.entries(filter).filter(([name]) => chosen.includes(name))),
      );
  };

  it('together have exactly the rows of a filter, also if searches stop early', async () => {
    const limits = fc.constantFrom(1_000, 170, 50);
    const patience = fc.constantFrom(undefined, 0);
    await fc.assert(
      fc.asyncProperty(filters(), limits, patience, async (filter, limit, patienceMs) => {
        expect(await allPages(organizationId, filter, limit, patienceMs)).toEqual(expected(organizationId, filter));
      }),
      { numRuns: propertyRuns(100) },
    );
  }, 90_000);

  it('of all organizations have the rows of each, in one order', async () => {
    await fc.assert(
      fc.asyncProperty(filters(), async (filter) => {
        const all = [...expected(organizationId, filter), ...expected(otherId, filter)].sort().reverse();
        const found: string[] = [];
        for (let before: string | undefined; ; ) {
          const page = { ...filter, ...(before === undefined ? {} : { before }), limit: 700 };
          const { rows, next } = await findEveryRequest(database, page);
          found.push(...rows.map(({ id }) => id));
          if (next === undefined) break;
          before = next;
        }
        expect(found).toEqual(all);
      }),
      { numRuns: propertyRuns(30) },
    );
    const [entry] = entries;
    const [row] = await searchRequests(database, undefined, entry?.requestId ?? '', 50);
    expect(row && requestDetail(row)).toMatchObject({
      id: entry?.id,
      organizationId: entry?.organizationId,
      organizationName: 'test',
    });
  }, 90_000);

  it('report how far they have searched if little matches', async () => {
    const toMs = START_MS + SPAN_MS;
    const page = await findRequests(database, { organizationId, providers: ['none'], toMs, limit: 50 }, 0);
    expect(page.rows).toEqual([]);
    // The last two days are searched first. They are less than a step, so a whole step follows.
    const own = expected(organizationId, {}).map(idMoment);
    const recent = own.filter((atMs) => atMs >= toMs - 48 * HOUR_MS).length;
    expect(recent).toBeLessThan(FIRST_STEP_ROWS);
    expect(page.searchedToMs).toBe(own[recent + FIRST_STEP_ROWS - 1]);
    expect(page.searchedToMs).toBe(idMoment(page.next ?? ''));
  });

  it('can begin after an id, for following the log', async () => {
    const newest = expected(organizationId, {});
    const { rows, next } = await findRequests(database, { organizationId, after: newest[20] ?? '', limit: 50 });
    expect(rows.map(({ id }) => id)).toEqual(newest.slice(0, 20));
    expect(next).toBeUndefined();
  });

  it('include `fromMs` and exclude `toMs`', async () => {
    const [newest, second] = entries.filter((entry) => entry.organizationId === organizationId);
    const [fromMs = 0, toMs = 0] = [second?.arrivedAtMs, newest?.arrivedAtMs];
    const { rows } = await findRequests(database, { organizationId, fromMs, toMs, limit: 50 });
    expect(rows.map(({ id }) => id)).toEqual([second?.id]);
  });

  it('find a request by its request id and generation id, only in its organization', async () => {
    const entry = entries.find((each) => each.organizationId === organizationId);
    const ids = [entry?.requestId ?? '', entry?.generationId ?? ''];
    for (const id of ids) {
      const own = await searchRequests(database, organizationId, id, 50);
      expect(own.map((row) => row.id)).toEqual([entry?.id]);
      expect(await searchRequests(database, otherId, id, 50)).toEqual([]);
    }
  });

  it('have every field of a request', async () => {
    const entry = entries.find(
      (each) => each.organizationId === organizationId && each.code === undefined && each.model,
    );
    const row = await findRequest(database, organizationId, entry?.id ?? '');
    expect(row && requestDetail(row)).toEqual({
      id: entry?.id,
      atMs: entry?.arrivedAtMs,
      keyId: entry?.keyId,
      keyName: 'test',
      keyLast4: 'test',
      requestId: entry?.requestId,
      generationId: entry?.generationId,
      route: 'chat',
      api: 'chat',
      model: entry?.model,
      provider: 'openai',
      address: '192.0.2.1',
      userAgent: 'OpenAI/Python 2.8.0',
      user: 'ada',
      metadata: '{"team":"blue"}',
      status: entry?.status,
      streamed: true,
      replayed: false,
      clientGone: false,
      promptTokens: 30,
      completionTokens: 7,
      cachedTokens: 2,
      reasoningTokens: 1,
      costNanoUsd: '100',
      firstEventMs: 120,
      durationMs: 951,
    });
  });
});

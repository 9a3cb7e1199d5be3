import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { RequestLogRow } from '#database/request-log/request-log-row.ts';
import { type OpenRequestLog, openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { rowWith } from '../fixtures/request-log-row.ts';
import { createDatabase, type LogLine, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';

const url = await createDatabase();
const logged: LogLine[] = [];
const note = (level: LogLine['level']) => (_fields: object, message: string) => void logged.push({ level, message });
const log = { info: note('info'), warn: note('warn'), error: note('error') };
const store = opened(async () => openRequestLog(url, log, PATIENT));

type Row = Readonly<Record<string, unknown>>;
const rowsOf = (organizationId: string): Promise<Row[]> =>
  sql(url, `select * from request_log where organization_id = '${organizationId}' order by id`);
const statsOf = (organizationId: string): Promise<Row[]> =>
  sql(
    url,
    `select * from request_stats where organization_id = '${organizationId}' order by hour, key_id, model, code, provider, status`,
  );
const newOrganization = (): string => newId('org', Date.now());

const HOUR_MS = 3_600_000;
/** A past hour, in today's partition or the default one. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS;

describe('writing', () => {
  it('sums by hour, key, model and code, and by time to the first event', async () => {
    const organizationId = newOrganization();
    const at = (ms: number, more: Partial<RequestLogRow> = {}) =>
      rowWith({ organizationId, arrivedAtMs: HOUR + ms, ...more });
    const refused = {
      status: 429,
      usage: undefined,
      costNanoUsd: undefined,
      providerCostNanoUsd: undefined,
      firstEventMs: undefined,
    };
    await store.write([
      at(0, { firstEventMs: 50 }),
      at(HOUR_MS - 1, { firstEventMs: 50.6 }),
      at(HOUR_MS, { firstEventMs: 25_600 }),
      at(1, { firstEventMs: 25_601, model: 'anything', modelKnown: false }),
      at(2, { ...refused, code: 'rpm_exceeded', model: undefined, modelKnown: false }),
    ]);
    await store.write([at(3, { firstEventMs: 7, costNanoUsd: 11n, providerCostNanoUsd: undefined })]);
    const row = {
      organization_id: organizationId,
      key_id: 'key-1',
      model: 'gpt-5-mini',
      code: '',
      provider: 'openai',
      status: 200,
      streamed: true,
      hour: new Date(HOUR),
    };
    const figures = (requests: number, cost: number, charged = requests) => ({
      requests: String(requests),
      prompt_tokens: String(30 * charged),
      completion_tokens: String(7 * charged),
      cached_tokens: String(2 * charged),
      cost_nano_usd: String(cost),
      // The cost of the last request is unknown.
      provider_cost_nano_usd: String(60 * Math.min(charged, 2)),
      known_revenue_nano_usd: String(100 * Math.min(charged, 2)),
    });
    const buckets = (...filled: number[]) =>
      Array.from({ length: 11 }, (_, i) => String(filled.filter((b) => b === i).length));
    expect(await statsOf(organizationId)).toEqual([
      {
        ...row,
        model: '',
        ...figures(1, 100),
        first_event_buckets: buckets(10),
      },
      {
        ...row,
        model: '',
        code: 'rpm_exceeded',
        status: 429,
        ...figures(1, 0, 0),
        first_event_buckets: buckets(),
      },
      {
        ...row,
        ...figures(3, 211),
        first_event_buckets: buckets(0, 0, 1),
      },
      {
        ...row,
        hour: new Date(HOUR + HOUR_MS),
        ...figures(1, 100),
        first_event_buckets: buckets(9),
      },
    ]);
  });

  it('stores the newest use of a key, in any order of writes', async () => {
    const organizationId = newOrganization();
    const keyId = newId('key', Date.now());
    const at = (arrivedAtMs: number, address: string) => rowWith({ organizationId, keyId, arrivedAtMs, address });
    const last = async () =>
      (await sql(url, `select last_used_at, last_address from key_activity where key_id = '${keyId}'`))[0];
    await store.write([at(HOUR + 5, '192.0.2.5'), at(HOUR + 9, '192.0.2.9'), at(HOUR + 7, '192.0.2.7')]);
    expect(await last()).toEqual({ last_used_at: new Date(HOUR + 9), last_address: '192.0.2.9' });
    await store.write([at(HOUR + 8, '192.0.2.8')]);
    expect(await last()).toEqual({ last_used_at: new Date(HOUR + 9), last_address: '192.0.2.9' });
  });

  it('stores no use of a key in the future, which would hide all uses until then', async () => {
    const keyId = newId('key', Date.now());
    const use = (arrivedAtMs: number, address: string) =>
      store.write([rowWith({ organizationId: newOrganization(), keyId, arrivedAtMs, address })]);
    await use(Date.now() + 30 * DAY_MS, '192.0.2.5');
    await use(Date.now(), '192.0.2.6');
    const [last] = await sql<{ last_address: string; future: boolean }>(
      url,
      `select last_address, last_used_at > now() as future from key_activity where key_id = '${keyId}'`,
    );
    expect(last).toEqual({ last_address: '192.0.2.6', future: false });
  });

  it('counts a batch once, however often it is written completely or in part', async () => {
    const organizationId = newOrganization();
    const batch = Array.from({ length: 7 }, () => rowWith({ organizationId }));
    const more = [...batch.slice(3), ...Array.from({ length: 5 }, () => rowWith({ organizationId }))];
    // The first row of this batch is new, and another one is in it twice.
    const mixed = [rowWith({ organizationId }), ...batch.slice(0, 2), ...batch.slice(0, 1)];
    for (const part of [batch, batch, more, more, mixed]) expect(await store.write(part)).toBe(0);
    expect(await rowsOf(organizationId)).toHaveLength(13);
    expect((await statsOf(organizationId)).reduce((sum, row) => sum + Number(row.requests), 0)).toBe(13);
  });

  it('loses only the row that PostgreSQL refuses', async () => {
    const organizationId = newOrganization();
    const batch = Array.from({ length: 9 }, (_, i) =>
      rowWith({ organizationId, ...(i === 4 ? { status: 40_000 } : {}) }),
    );
    expect(await store.write(batch)).toBe(1);
    expect((await rowsOf(organizationId)).map(({ id }) => id)).toEqual(
      batch
        .filter((_, i) => i !== 4)
        .map(({ id }) => id)
        .sort(),
    );
    expect(logged).toContainEqual({ level: 'error', message: 'PostgreSQL refused a row of the request log' });
  });

  it('stores text unchanged, except for unreadable characters', async () => {
    const organizationId = newOrganization();
    const text = fc.oneof(
      fc.constantFrom(
        '',
        'null',
        'NULL',
        '"',
        '\\',
        '{}',
        ',',
        ' a ',
        'a,b',
        "'",
        '\\"',
        '\0',
        '\u001b[31m',
        '\u202ea',
        'ü',
        '😀',
        'a\nb',
        '\ud800',
      ),
      fc.string({ unit: 'binary', maxLength: 50 }),
    );
    const pairs = fc.sample(fc.tuple(text, text), { numRuns: 400, seed: 7 });
    const start = Date.now();
    const batch = pairs.map(([model, userAgent], i) =>
      rowWith({ organizationId, arrivedAtMs: start - i, model, userAgent }),
    );
    expect(await store.write(batch)).toBe(0);
    const readable = (value: string) => value.replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu, '').toWellFormed();
    const rows = new Map((await rowsOf(organizationId)).map((row) => [row.id, row]));
    expect(batch.map(({ id }) => [rows.get(id)?.model, rows.get(id)?.user_agent])).toEqual(
      pairs.map(([model, userAgent]) => [readable(model), readable(userAgent)]),
    );
  });

  it('never deadlocks with other processes, and sums the rows of all of them', async () => {
    const organizations = Array.from({ length: 8 }, newOrganization);
    const stores = Array.from({ length: 4 }, () => openRequestLog(url, log, PATIENT));
    try {
      const writeAll = async (own: OpenRequestLog, process: number): Promise<void> => {
        for (let round = 0; round < 12; round++) {
          // Each process has another order.
          const order = organizations.toSorted(
            (a, b) => ((a.charCodeAt(25) * (process + 3)) % 7) - ((b.charCodeAt(25) * (process + 3)) % 7),
          );
          await own.write(
            order.flatMap((organizationId) => [
              rowWith({ organizationId, keyId: organizationId, arrivedAtMs: HOUR }),
              rowWith({ organizationId, arrivedAtMs: HOUR }),
            ]),
          );
        }
      };
      await Promise.all(stores.map(writeAll));
    } finally {
      await Promise.all(stores.map((each) => each.close()));
    }
    for (const organizationId of organizations) {
      expect((await statsOf(organizationId)).map(({ requests }) => requests)).toEqual(['48', '48']);
    }
    const before = await sql<{ deadlocks: string }>(
      url,
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    expect(before[0]?.deadlocks).toBe('0');
  });

  it('rejects while the log is unavailable, and counts nothing twice afterwards', async () => {
    const organizationId = newOrganization();
    const batch = [0, 1].map((ms) => rowWith({ organizationId, arrivedAtMs: HOUR + ms }));
    const broken = openRequestLog('postgres://nobody@127.0.0.1:1/nowhere', log);
    await expect(broken.write(batch)).rejects.toBeInstanceOf(StoreUnavailable);
    await broken.close();
    await store.write(batch);
    expect((await statsOf(organizationId)).map(({ requests }) => requests)).toEqual(['2']);
  });
});

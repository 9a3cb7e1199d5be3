import { describe, expect, it } from 'vitest';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { countOmitted, type OmittedQuery } from '#database/request-log/omitted-count.ts';
import { dropOldLog } from '#database/request-log/request-log-partitions.ts';
import type { OmittedRequests } from '#database/request-log/request-log-row.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { createDatabase, SILENT, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';

const MINUTE = Math.floor(Date.now() / MINUTE_MS) - 90;

const url = await createDatabase();
const one = opened(async () => openRequestLog(url, SILENT, PATIENT));
const other = opened(async () => openRequestLog(url, SILENT, PATIENT));
const database = opened(async () => openDatabase(url, SILENT));

function countedWith(changes: Partial<OmittedRequests> & Pick<OmittedRequests, 'organizationId'>): OmittedRequests {
  const minute = changes.minute ?? MINUTE;
  return {
    keyId: 'key-1',
    minute,
    model: '',
    code: 'key_revoked',
    status: 401,
    requests: 1,
    lastAtMs: minute * MINUTE_MS,
    address: '192.0.2.1',
    ...changes,
  };
}

const newOrganization = () => newId('org', Date.now());
const statsOf = (organizationId: string) =>
  sql(
    url,
    `select hour, code, requests from request_stats where organization_id = '${organizationId}' order by hour, code`,
  );

describe('counts of omitted requests', () => {
  it('are in the hourly sums once, however often they are written', async () => {
    const organizationId = newOrganization();
    const write = (requests: number) => one.writeOmitted([countedWith({ organizationId, requests })]);
    for (const requests of [5, 5, 12, 5, 12]) await write(requests);
    const hour = new Date(Math.floor(MINUTE / 60) * 60 * MINUTE_MS);
    expect(await statsOf(organizationId)).toEqual([{ hour, code: 'key_revoked', requests: '12' }]);
    expect(await countOmitted(database, { organizationId })).toEqual({ leftOut: 12 });
  });

  it('of two processes are summed', async () => {
    const organizationId = newOrganization();
    const counted = { organizationId, requests: 7 };
    await Promise.all([one.writeOmitted([countedWith(counted)]), other.writeOmitted([countedWith(counted)])]);
    expect(await countOmitted(database, { organizationId })).toEqual({ leftOut: 14 });
    expect((await statsOf(organizationId)).map(({ requests }) => requests)).toEqual(['14']);
  });

  it('are found by the filters of the page, and by minute', async () => {
    const organizationId = newOrganization();
    const at = (requests: number, more: Partial<OmittedRequests> = {}) =>
      countedWith({ organizationId, requests, ...more });
    await one.writeOmitted([
      at(1),
      at(2, { minute: MINUTE + 1 }),
      at(4, { keyId: 'key-2', code: 'model_not_allowed', status: 403, model: 'known' }),
      at(8, { code: '', status: 499 }),
    ]);
    const find = async (filter: Omit<OmittedQuery, 'organizationId'>) => {
      const { leftOut, ...more } = await countOmitted(database, { organizationId, ...filter });
      expect(more).toEqual({});
      return leftOut;
    };
    expect(await find({})).toBe(15);
    expect(await find({ keys: ['key-2'] })).toBe(4);
    expect(await find({ models: ['known'] })).toBe(4);
    expect(await find({ codes: ['key_revoked'] })).toBe(3);
    expect(await find({ statusClasses: ['499'] })).toBe(8);
    expect(await find({ users: ['ada'] })).toBe(0);
    expect(await find({ users: [''], providers: [''], metadata: ['team='], streamed: false })).toBe(15);
    expect(await find({ minDurationMs: 0 })).toBe(0);
    expect(await find({ outcome: 'failed' })).toBe(7);
    expect(await find({ outcome: 'succeeded' })).toBe(0);
    expect(await find({ fromMs: (MINUTE + 1) * MINUTE_MS + 5_000 })).toBe(2);
    expect(await find({ toMs: (MINUTE + 1) * MINUTE_MS })).toBe(13);
    expect(await find({ after: newId('log', (MINUTE + 1) * MINUTE_MS) })).toBe(2);
    expect(await countOmitted(database, { organizationId: newOrganization() })).toEqual({ leftOut: 0 });
  });

  it('update the last use of a key', async () => {
    const organizationId = newOrganization();
    const keyId = newId('key', Date.now());
    await one.writeOmitted([countedWith({ organizationId, keyId, lastAtMs: MINUTE * MINUTE_MS + 7 })]);
    expect(await sql(url, `select last_used_at, last_address from key_activity where key_id = '${keyId}'`)).toEqual([
      { last_used_at: new Date(MINUTE * MINUTE_MS + 7), last_address: '192.0.2.1' },
    ]);
  });

  it('are deleted with the rows of their time', async () => {
    const organizationId = newOrganization();
    await one.writeOmitted([
      countedWith({ organizationId, minute: MINUTE - 3 * 1440 }),
      countedWith({ organizationId, requests: 3 }),
    ]);
    const pool = createPool(url, 1, PATIENT, SILENT);
    await dropOldLog(pool, Date.now(), 2 * DAY_MS, SILENT);
    await pool.end();
    expect(await countOmitted(database, { organizationId })).toEqual({ leftOut: 3 });
  });
});

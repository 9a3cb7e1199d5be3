import pg from 'pg';
import { expect, test } from 'vitest';
import { DAY_MS, utcDay, utcDayText } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { makePartitions } from '#database/partitions/partitions.ts';
import { makeLogPartitions } from '#database/request-log/request-log-partitions.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { attemptWith } from '../fixtures/provider-attempt.ts';
import { rowWith } from '../fixtures/request-log-row.ts';
import { lockWaits, SILENT, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const db = withStore();

test('a row of a wrong time moves to its day or month when that is made', async () => {
  const pool = createPool(db.url, 1, PATIENT, SILENT);
  const requests = openRequestLog(db.url, SILENT, PATIENT);
  const atMs = Date.now() + 150 * DAY_MS;
  const charge = settlementOf(db.customer, { generationId: newId('gen', atMs), createdAtMs: atMs, day: utcDay(atMs) });
  const [row, later] = [rowWith({ arrivedAtMs: atMs }), rowWith({ arrivedAtMs: atMs + 40 * DAY_MS })];
  const attempt = attemptWith({ generationId: newId('gen', atMs) });
  const charged = await db.store.ledger.charge(charge);
  await requests.write([row, later]);
  await requests.writeAttempts([attempt]);

  await makePartitions(pool, atMs, SILENT);
  await makeLogPartitions(pool, atMs, SILENT);
  const day = utcDayText(utcDay(atMs)).replaceAll('-', '_');
  const found = await sql<{ in: string; id: string }>(
    db.url,
    `select tableoid::regclass::text as in, id from generations union all
     select tableoid::regclass::text, id from request_log union all
     select tableoid::regclass::text, generation_id from provider_attempts`,
  );
  expect(new Map(found.map((one) => [one.id, one.in]))).toEqual(
    new Map([
      [charge.generationId, `generations_${day.slice(0, 7)}`],
      [row.id, `request_log_${day}`],
      [later.id, 'request_log_other'],
      [attempt.generationId, `provider_attempts_${day}`],
    ]),
  );
  expect(await db.store.ledger.charge(charge)).toEqual(charged);
  await Promise.all([pool.end(), requests.close()]);
});

test('a charge of a month that is being made waits, and is in it', async () => {
  const atMs = Date.now() + 250 * DAY_MS;
  const charge = () =>
    db.store.ledger.charge(
      settlementOf(db.customer, { generationId: newId('gen', atMs), createdAtMs: atMs, day: utcDay(atMs) }),
    );
  await charge();
  const maker = new pg.Client(db.url);
  await maker.connect();
  const month = utcDayText(utcDay(atMs)).slice(0, 7);
  await maker.query('begin');
  await maker.query("select make_month('generations', $1)", [`${month}-01`]);
  const charged = charge();
  await expect.poll(() => lockWaits(db.url)).toBeGreaterThan(0);
  await maker.query('commit');
  await charged;
  const partition = `generations_${month.replace('-', '_')}`;
  expect(await sql(db.url, `select count(*)::int from ${partition}`)).toEqual([{ count: 2 }]);
  await maker.end();
});

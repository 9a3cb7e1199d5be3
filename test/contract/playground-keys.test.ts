import { expect, test } from 'vitest';
import { MINUTE_MS, utcDay } from '#core/clock.ts';
import { changeAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { reportCrossings } from '#database/alerts/crossings.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { countKeys, listKeys } from '#database/keys/key-rows.ts';
import { newestKeys, readKeyTable } from '#database/keys/key-table.ts';
import { BY, SILENT, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';

const EXPIRED = 3_000;
const database = opened(openAudited);

test('no list and no alert reads the expired playground keys of years', async () => {
  const { url } = database;
  const organizationId = await database.addOrganization();
  const wanted = { keyBudgets: true, keyExpiry: true, emails: ['a@example.com'] };
  await changeAlertSettings(database.pool, organizationId, () => ({ ...NEW_ALERTS, ...wanted }), BY);
  await sql(
    url,
    `insert into keys (id, organization_id, name, hash, last4, scopes, playground, created_by, created_at, expires_at,
         daily_budget_nano_usd, lifetime_budget_nano_usd)
       select 'key-' || lpad(n::text, 26, '0'), '${organizationId}', 'key', sha256(n::text::bytea), 'abcd', '{chat}', n > 10, 'usr-1',
         now() - n * interval '1 minute', now() - n * interval '1 second', 1, 1 from generate_series(1, ${EXPIRED + 10}) n`,
  );
  await sql(url, 'analyze keys');
  const timeouts = { connectMs: MINUTE_MS, statementMs: MINUTE_MS };
  const pool = createPool(url, 1, timeouts, SILENT, { plans: 'by_values' });
  const rowsRead = async () => {
    await pool.query('select pg_stat_force_next_flush()');
    const { rows } = await pool.query(
      `select (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'keys')
         + (select seq_tup_read from pg_stat_user_tables where relname = 'keys') as read`,
    );
    return Number(rows[0].read);
  };
  const today = utcDay(Date.now());
  const reads = {
    list: () => listKeys(pool, organizationId),
    newest: () => newestKeys(pool, organizationId, 100, today),
    page: () => readKeyTable(pool, { organizationId, limit: 100 }, Date.now()),
    count: () => countKeys(pool, organizationId),
    alerts: () => reportCrossings(pool, { sendsMail: true, readsSums: true }),
  };
  const counted: Record<string, number> = {};
  for (const [name, read] of Object.entries(reads)) {
    const before = await rowsRead();
    await read();
    counted[name] = (await rowsRead()) - before;
  }
  await pool.end();
  expect(Object.entries(counted).filter(([, rows]) => rows > 100)).toEqual([]);
});

import { expect, it } from 'vitest';
import { ATTEMPT_COLUMNS } from '#database/costs/provider-attempt-records.ts';
import { CHARGE_COLUMNS } from '#database/ledger/charge-records.ts';
import { OMITTED_COLUMNS } from '#database/request-log/omitted-requests.ts';
import { LOGGED_COLUMNS } from '#database/request-log/request-log-columns.ts';
import { createDatabase, sql } from '../harness/database.ts';

const url = await createDatabase();

it.each([
  ['charge', CHARGE_COLUMNS],
  ['logged_request', LOGGED_COLUMNS],
  ['omitted_count', OMITTED_COLUMNS],
  ['provider_attempt', ATTEMPT_COLUMNS],
])('a %s is written with the columns of PostgreSQL, in their order', async (type, columns) => {
  const attributes = await sql<{ name: string }>(
    url,
    `select attname as name from pg_attribute
      where attrelid = (select typrelid from pg_type where typname = '${type}') and not attisdropped order by attnum`,
  );
  expect(Object.values(columns).map(([column]) => column)).toEqual(attributes.map(({ name }) => name));
});

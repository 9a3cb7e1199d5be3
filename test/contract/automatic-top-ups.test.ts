import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../core/ids.ts';
import { beginAutomaticTopUps } from '../../database/payments/automatic-top-ups.ts';
import { sql } from '../harness/database.ts';
import { type AuditedDatabase, openAudited } from './audited-database.ts';

let database: AuditedDatabase;
beforeAll(async () => {
  database = await openAudited();
});
afterAll(() => database.close());

it('organizations that have spent the most for a day, however many, keep no other one waiting', async () => {
  const organizations: string[] = [];
  for (let made = 0; made < 105; made++) organizations.push(await database.addOrganization());
  const last = organizations.at(-1) ?? '';
  await database.pool.query(
    `insert into payment_accounts (organization_id, customer_id, payment_method_id, automatic, below_nano_usd, amount_cents, daily_cents)
     select id, 'cus_' || id, 'pm_1', true, 1000000000, 1000, 1500 from unnest($1::text[]) id`,
    [organizations],
  );
  const spent = organizations.filter((id) => id !== last);
  await database.pool.query(
    `insert into top_ups (id, organization_id, automatic, amount_cents, state)
     select top, id, true, 1000, 'paid' from unnest($1::text[], $2::text[]) t (id, top)`,
    [spent, spent.map(() => newId('top', Date.now()))],
  );
  await beginAutomaticTopUps(database.pool, () => newId('top', Date.now()));
  expect(await sql(database.url, "select organization_id from top_ups where state = 'open'")).toEqual([
    { organization_id: last },
  ]);
});

import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { NANO_PER_USD } from '#core/money.ts';
import { mailText } from '#dashboard/server/alerts/message-texts.ts';
import { changeAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { reportCrossings } from '#database/alerts/crossings.ts';
import type { KeySettings, NewKey } from '#database/keys/key-records.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';

const DAY_MS = 86_400_000;

const database = opened(openAudited);
let organizationId: string;
beforeAll(async () => {
  organizationId = await database.addOrganization();
  const wanted = { keyBudgets: true, keyExpiry: true, emails: ['a@example.com'] };
  await changeAlertSettings(database.pool, organizationId, () => ({ ...NEW_ALERTS, ...wanted }), BY);
});

const newIdentity = () => ({ id: newId('key', Date.now()), hash: randomBytes(32), last4: 'abcd' });
async function addKey(settings: Partial<KeySettings & Pick<NewKey, 'playground'>>): Promise<string> {
  const identity = newIdentity();
  const key = { organizationId, name: 'Backend', scopes: ['chat'] as const, ...settings, ...identity };
  const created = await database.administration.createKey(key, BY);
  if (created.kind !== 'created') throw new Error(created.kind);
  return identity.id;
}
const report = () => reportCrossings(database.pool, { sendsMail: true, readsSums: true });
const textsOf = async (keyId: string) => {
  const rows = await sql<{ kind: string; content: Record<string, string> }>(
    database.url,
    `select kind, content from outbox where content ->> 'key_id' = '${keyId}' order by id`,
  );
  return rows.map((row) => mailText(row)?.text.trimEnd());
};

test('a key that expires within 7 days is reported once, and again only after it was extended beyond', async () => {
  const { administration } = database;
  const id = await addKey({ note: 'Ask Bo', expiresAtMs: Date.UTC(2999, 0, 1) });
  const expireIn = (days: number) =>
    administration.updateKey(organizationId, id, { expiresAtMs: Date.now() + days * DAY_MS }, BY);
  const reported: number[] = [];
  for (const days of [8, 6, 5, 30, 6.9]) {
    await expireIn(days);
    reported.push(await report());
  }
  expect(reported).toEqual([0, 1, 0, 0, 1]);
  expect((await textsOf(id))[0]).toMatch(
    /^The key “Backend” \(key-\w+\) expires on \d+ \w+ \d{4}, \d\d:\d\d UTC\. Requests then get 401 key_expired, .+ Its note: “Ask Bo”\.$/,
  );
  await administration.revokeKey(id, BY);
  expect(await report()).toBe(0);
});

test('no key is reported that has expired, is revoked, is being replaced or belongs to a playground', async () => {
  const { administration, url } = database;
  const soon = { expiresAtMs: Date.now() + DAY_MS, dailyBudgetNanoUsd: NANO_PER_USD };
  const revoked = [await addKey(soon), await addKey(soon)];
  await administration.revokeKeys({ ids: revoked }, BY);
  const replaced = await addKey(soon);
  const later = { oldRevokedAtMs: Date.now() + DAY_MS / 2, expiresAtMs: null };
  await administration.replaceKey(organizationId, replaced, { ...newIdentity(), ...later }, BY);
  const ids = [...revoked, replaced, await addKey({ expiresAtMs: 1 }), await addKey({ ...soon, playground: true })];
  const today = "(now() at time zone 'UTC')::date";
  await sql(
    url,
    `insert into key_daily_spend select id, ${today}, ${NANO_PER_USD} from unnest('{${ids.join(',')}}'::text[]) k (id)`,
  );
  expect(await report()).toBe(0);
});

test('monthly and lifetime budgets are reported at 80 and 100 %, until the budget is raised', async () => {
  const { administration, url } = database;
  const usd = (dollars: number) => BigInt(dollars) * NANO_PER_USD;
  const id = await addKey({ monthlyBudgetNanoUsd: usd(10), lifetimeBudgetNanoUsd: usd(100) });
  const spend = (dollars: number, at: string) =>
    sql(
      url,
      `insert into key_daily_spend values ('${id}', ${at}, ${usd(dollars)})
       on conflict (key_id, day) do update set spent_nano_usd = excluded.spent_nano_usd`,
    );
  const firstOfMonth = "date_trunc('month', now() at time zone 'UTC')::date";
  const reported: number[] = [];
  const look = async () => reported.push(await report());
  await spend(72, `${firstOfMonth} - 1`);
  await look();
  await spend(7, firstOfMonth);
  await look();
  await spend(8, firstOfMonth);
  await look();
  await spend(28, firstOfMonth);
  await look();
  // A check without sums ends no crossing.
  expect(await reportCrossings(database.pool, { sendsMail: true, readsSums: false })).toBe(0);
  await look();
  // 28 of 40 is 70 %.
  await administration.updateKey(organizationId, id, { monthlyBudgetNanoUsd: usd(40) }, BY);
  await look();
  await spend(32, firstOfMonth);
  await look();
  expect(reported).toEqual([0, 0, 2, 2, 0, 0, 1]);
  expect((await textsOf(id)).map((text) => text?.replace(/^.*has/, 'has'))).toEqual([
    'has spent $8.00 of $10.00.',
    'has spent $80.00 of $100.00.',
    'has spent $28.00 of $10.00.',
    'has spent $100.00 of $100.00.',
    'has spent $32.00 of $40.00.',
  ]);
});

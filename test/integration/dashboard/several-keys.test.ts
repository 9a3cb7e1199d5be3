import { beforeAll, describe, expect, it } from 'vitest';
import type { CreatedKeyView, KeyView } from '#contract/keys.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const DAY_MS = 86_400_000;
const NOBODY = `key-${'0'.repeat(26)}`;

const dashboard = opened(startDashboard);
let organizationId: string;
let path: string;
let owner: Browser;
let member: Browser;
let memberEmail: string;

beforeAll(async () => {
  organizationId = await dashboard.addOrganization('Acme');
  path = `/api/organizations/${organizationId}/keys`;
  owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
  const user = await dashboard.addUser({ in: [organizationId, 'member'] });
  memberEmail = user.email;
  member = await dashboard.signedIn(user);
});

async function created(browser: Browser, body: object = {}): Promise<KeyView> {
  const reply = await browser.send<CreatedKeyView>('POST', path, { name: 'Backend', scopes: ['chat'], ...body });
  expect(reply.status, reply.text).toBe(200);
  return reply.body.key;
}
const revoke = (browser: Browser, keys: readonly unknown[]) =>
  browser.send<{ revoked: number }>('POST', `${path}/revocation`, { keys });
const show = async ({ id }: KeyView) => (await owner.get<KeyView>(`${path}/${id}`)).body;
const states = (keys: readonly KeyView[]) => Promise.all(keys.map(async (key) => (await show(key)).state));

describe('revoking several keys', () => {
  it('revokes all of them for an owner, each with an audit event, and is idempotent', async () => {
    const keys = [await created(owner), await created(member), await created(owner)];
    const ids = keys.map(({ id }) => id);
    expect((await revoke(owner, [...ids, ...ids])).body).toEqual({ revoked: 3 });
    expect(await states(keys)).toEqual(['revoked', 'revoked', 'revoked']);
    expect((await revoke(owner, ids)).body).toEqual({ revoked: 0 });
    const events = await sql(
      dashboard.databaseUrl,
      `select subject_id from audit_log where action = 'key.revoked' and subject_id = any ('{${ids.join(',')}}')`,
    );
    expect(events.map(({ subject_id }) => subject_id).toSorted()).toEqual(ids.toSorted());
  });

  it('revokes all keys of a member, and none if one belongs to somebody else', async () => {
    const keys = [await created(member), await created(member), await created(owner)];
    const [first, second, foreign] = keys.map(({ id }) => id);
    const refused = await revoke(member, [first, foreign, second]);
    expect([refused.status, refused.body.problem]).toEqual([403, 'not_allowed']);
    expect(await states(keys)).toEqual(['usable', 'usable', 'usable']);
    expect((await revoke(member, [first, second])).body).toEqual({ revoked: 2 });
  });

  it('revokes none if one belongs to another organization', async () => {
    const key = await created(owner);
    const otherId = await dashboard.addOrganization('Other');
    const { identity } = newKeySecret(Date.now());
    const settings = { organizationId: otherId, name: 'Other', scopes: ['chat'] as const };
    await dashboard.administration.createKey({ ...settings, ...identity }, BY);
    for (const unknown of [identity.id, NOBODY]) {
      expect((await revoke(owner, [key.id, unknown])).status).toBe(404);
    }
    expect(await states([key])).toEqual(['usable']);
    expect((await dashboard.administration.key(otherId, identity.id))?.revoked).toBe(false);
  });

  it.each([[[]], [['key-1']], [[7]], [Array.from({ length: 1_001 }, () => NOBODY)]])('refuses %j', async (keys) => {
    const { status, body } = await revoke(owner, keys);
    expect([status, Object.keys(body.fields ?? {})]).toEqual([400, ['keys']]);
  });
});

it('a replaced key gets the chosen expiry, never one that has passed', async () => {
  const expiresAtMs = Date.now() + DAY_MS;
  const replace = ({ id }: KeyView, body: object) =>
    owner.send<CreatedKeyView>('POST', `${path}/${id}/replacement`, { revokeOldAfterHours: 1, ...body });
  const key = await created(owner, { expiresAtMs });
  const past = await replace(key, { expiresAtMs: 1 });
  expect([past.status, Object.keys(past.body.fields ?? {})]).toEqual([400, ['expiresAtMs']]);
  const longer = await replace(key, { expiresAtMs: expiresAtMs + DAY_MS });
  expect(longer.body.key.expiresAtMs).toBe(expiresAtMs + DAY_MS);
  expect((await show(key)).expiresAtMs).toBe(expiresAtMs);
  expect((await replace(longer.body.key, { expiresAtMs: null })).body.key).not.toHaveProperty('expiresAtMs');
});

describe('the CSV of keys', () => {
  const linesOf = async (browser: Browser, query: string) =>
    (await browser.get(`/api/organizations/${organizationId}/keys.csv${query}`)).text.trimEnd().split('\r\n');

  it('has each key with its settings, use and spend, and no spreadsheet formula', async () => {
    const restrictions = {
      ...{ models: ['a', 'b'], ipRanges: ['10.0.0.0/8'], requestsPerMinute: 5, dailyBudgetNanoUsd: '2500000000' },
      note: '@SUM(A1), "ask Bo"',
      ...{ monthlyBudgetNanoUsd: '3000000000', expiresAtMs: Date.UTC(2099, 5, 1) },
    };
    const key = await created(member, { name: '=HYPERLINK("http://x")', ...restrictions });
    dashboard.setNow(Date.UTC(2027, 0, 15, 12));
    await sql(
      dashboard.databaseUrl,
      `insert into key_activity values ('${key.id}', to_timestamp(1795000000), '203.0.113.5');
       insert into key_daily_spend values ('${key.id}', '2027-01-15', 1), ('${key.id}', '2027-01-01', 10), ('${key.id}', '2026-12-31', 1000000000)`,
    );
    const [names, ...lines] = await linesOf(member, `?search=${key.id}`).finally(() => dashboard.setNow(undefined));
    expect(names).toBe(
      'key_id,name,key,member,status,created,last_used,last_address,expires,revoked,scopes,models,addresses,rpm,tpm,daily_budget_usd,monthly_budget_usd,lifetime_budget_usd,spent_today_usd,spent_this_month_usd,spent_in_lifetime_usd,note',
    );
    const createdAt = new Date(key.createdAtMs).toISOString();
    expect(lines).toEqual([
      `${key.id},"'=HYPERLINK(""http://x"")",sk-gw-…${key.last4},${memberEmail},usable,${createdAt},2026-11-18T11:06:40.000Z,203.0.113.5,2099-06-01T00:00:00.000Z,,chat,a b,10.0.0.0/8,5,,2.5,3,,0.000000001,0.000000011,1.000000011,"'@SUM(A1), ""ask Bo"""`,
    ]);
  });

  it('has the keys of the filter, newest first, and never one of another organization', async () => {
    const soon = await created(owner, { name: 'Soon', expiresAtMs: Date.now() + DAY_MS });
    const gone = await created(owner, { name: 'Soon gone' });
    await revoke(owner, [gone.id]);
    const idsOf = async (query: string) => (await linesOf(owner, query)).slice(1).map((line) => line.split(',')[0]);
    expect(await idsOf('?search=soon')).toEqual([gone.id, soon.id]);
    expect(await idsOf('?show=expiring&search=soon')).toEqual([soon.id]);
    expect(await idsOf('?show=ended&search=soon')).toEqual([gone.id]);
    const { keys } = (await owner.get<{ keys: KeyView[] }>(path)).body;
    expect(await idsOf('')).toEqual(keys.map(({ id }) => id));
    expect((await owner.get(`/api/organizations/${organizationId}/keys.csv?show=none`)).status).toBe(400);
  });

  it('is read in steps and has every key once', async () => {
    const id = await dashboard.addOrganization('Many');
    await sql(
      dashboard.databaseUrl,
      `insert into keys (id, organization_id, name, hash, last4, scopes)
       select 'key-' || lpad(n::text, 26, '0'), '${id}', 'k', sha256(('many ' || n)::bytea), 'abcd', '{chat}' from generate_series(1, 2500) n`,
    );
    const browser = await dashboard.signedIn(await dashboard.addUser({ in: [id, 'member'] }));
    const { text } = await browser.get(`/api/organizations/${id}/keys.csv`);
    const ids = text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[0]);
    expect(ids).toHaveLength(2_500);
    expect(new Set(ids).size).toBe(2_500);
  });
});

import { hash } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { CreatedKeyView, KeyView } from '#contract/keys.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LIMITS = { requestsPerMinute: 100, tokensPerMinute: 50_000, dailyBudgetNanoUsd: 2_500_000_000n };

const dashboard = opened(startDashboard);
let organizationId: string;
let path: string;
let owner: Browser;
let member: Browser;
let ownerEmail: string;

beforeAll(async () => {
  organizationId = await dashboard.addOrganization('Acme', LIMITS);
  path = `/api/organizations/${organizationId}/keys`;
  const user = await dashboard.addUser({ in: [organizationId, 'owner'] });
  ownerEmail = user.email;
  owner = await dashboard.signedIn(user);
  member = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));
});
afterEach(() => dashboard.setNow(undefined));

const SIMPLE = { name: 'Backend', scopes: ['chat'] };
const create = (browser: Browser, body: object = SIMPLE) => browser.send<CreatedKeyView>('POST', path, body);
const edit = (browser: Browser, id: string, body: object) => browser.send<KeyView>('PATCH', `${path}/${id}`, body);
const revoke = (browser: Browser, id: string) => browser.send<KeyView>('POST', `${path}/${id}/revocation`);
const replace = (browser: Browser, id: string, revokeOldAfterHours: number) =>
  browser.send<CreatedKeyView>('POST', `${path}/${id}/replacement`, { revokeOldAfterHours });
const show = async (id: string) => (await owner.get<KeyView>(`${path}/${id}`)).body;

async function created(browser: Browser = owner, body: object = SIMPLE): Promise<KeyView> {
  const reply = await create(browser, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.key;
}

describe('creating a key', () => {
  it('with every restriction shows the secret once, and stores its hash', async () => {
    const expiresAtMs = Date.now() + DAY_MS;
    const wanted = {
      name: 'Backend',
      note: '<b>Ask Bo</b>',
      scopes: ['chat', 'usage:read'],
      models: ['gpt-5-mini', 'other'],
      ipRanges: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'],
      expiresAtMs,
      requestsPerMinute: 100,
      tokensPerMinute: 50_000,
      dailyBudgetNanoUsd: '2500000000',
      monthlyBudgetNanoUsd: '30000000000',
      lifetimeBudgetNanoUsd: '100000000000',
    };
    const { body } = await create(owner, { ...wanted, name: '  Backend ' });
    const { key, secret } = body;
    expect(secret).toMatch(/^sk-gw-[\w-]{43}$/);
    const view = {
      ...{ ...wanted, id: expect.stringMatching(/^key-/), last4: secret.slice(-4), state: 'usable' },
      ...{ createdAtMs: expect.any(Number), createdBy: ownerEmail, spentTodayNanoUsd: '0', mine: true },
      ...{ spentThisMonthNanoUsd: '0', spentInLifetimeNanoUsd: '0' },
    };
    expect(key).toEqual(view);
    expect(await show(key.id)).toEqual(key);
    const rows = await sql<{ hash: Buffer }>(dashboard.databaseUrl, `select * from keys where id = '${key.id}'`);
    expect(rows[0]?.hash).toEqual(hash('sha256', secret, 'buffer'));
    const audit = await sql(dashboard.databaseUrl, `select * from audit_log where subject_id = '${key.id}'`);
    expect(audit).toMatchObject([{ action: 'key.created', actor: ownerEmail, address: '127.0.0.1' }]);
    expect(JSON.stringify([rows, audit])).not.toContain(secret);
  });

  it('lists keys newest first, including those of other people and of the command line', async () => {
    const { identity } = newKeySecret(Date.now());
    const settings = { organizationId, name: 'CLI', scopes: ['chat'] as const };
    await dashboard.administration.createKey({ ...settings, ...identity }, BY);
    const mine = await created(member);
    const { keys } = (await member.get<{ keys: KeyView[] }>(path)).body;
    expect(keys.slice(0, 2).map(({ id, mine: isMine }) => [id, isMine])).toEqual([
      [mine.id, true],
      [identity.id, false],
    ]);
    expect(keys[1]).not.toHaveProperty('createdBy');
  });

  it('does not name the operator who made a key', async () => {
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    const { id } = await created(operator);
    expect(await show(id)).toMatchObject({ createdBy: 'the operator' });
  });
});

describe('editing a key', () => {
  it('changes given fields, clears those that are null and keeps the rest', async () => {
    const { id } = await created(owner, { ...SIMPLE, models: ['a'], ipRanges: ['10.0.0.1'], requestsPerMinute: 5 });
    const more = { note: 'Ask Bo', dailyBudgetNanoUsd: '1', monthlyBudgetNanoUsd: '2', lifetimeBudgetNanoUsd: '0' };
    const change = { name: 'Renamed', models: null, tokensPerMinute: 10, ...more };
    const { body } = await edit(owner, id, change);
    expect(body).toMatchObject({ name: 'Renamed', ipRanges: ['10.0.0.1'], requestsPerMinute: 5, tokensPerMinute: 10 });
    expect(body).toMatchObject(more);
    expect(body).not.toHaveProperty('models');
    const gone = ['tokensPerMinute', 'ipRanges', ...Object.keys(more)];
    const cleared = await edit(owner, id, Object.fromEntries(gone.map((setting) => [setting, null])));
    for (const setting of gone) expect(cleared.body).not.toHaveProperty(setting);
    expect(await show(id)).toEqual(cleared.body);
    const actions = await sql(
      dashboard.databaseUrl,
      `select action from audit_log where subject_id = '${id}' order by id`,
    );
    expect(actions.map(({ action }) => action)).toEqual(['key.created', 'key.updated', 'key.updated']);
  });

  it.each<[string, object]>([
    ['requestsPerMinute', { requestsPerMinute: 101 }],
    ['dailyBudgetNanoUsd', { dailyBudgetNanoUsd: '2500000001' }],
    ['expiresAtMs', { expiresAtMs: 1 }],
    ['scopes', { scopes: [] }],
    ['name', { name: null }],
  ])('refuses %s as creation does', async (field, change) => {
    const key = await created();
    const { status, body } = await edit(owner, key.id, change);
    expect([status, Object.keys(body.fields ?? {})]).toEqual([400, [field]]);
    expect(await show(key.id)).toEqual(key);
  });

  it('keeps an expiry that has passed, but does not set one', async () => {
    const expiresAtMs = Date.now() + HOUR_MS;
    const { id } = await created(owner, { ...SIMPLE, expiresAtMs });
    dashboard.setNow(expiresAtMs + 1);
    const { body } = await edit(owner, id, { name: 'Renamed', expiresAtMs });
    expect(body).toMatchObject({ name: 'Renamed', state: 'expired' });
    expect((await edit(owner, id, { expiresAtMs: expiresAtMs - 1 })).status).toBe(400);
    expect((await edit(owner, id, { expiresAtMs: expiresAtMs + HOUR_MS })).body.state).toBe('usable');
  });
});

describe('revoking and replacing a key', () => {
  it('revokes at once and permanently', async () => {
    const { id } = await created();
    const { body } = await revoke(owner, id);
    expect(body).toMatchObject({ state: 'revoked', revokedAtMs: expect.any(Number) });
    expect((await revoke(owner, id)).body).toEqual(body);
    for (const reply of [await edit(owner, id, { name: 'x' }), await replace(owner, id, 0)]) {
      expect([reply.status, reply.body.problem]).toEqual([409, 'conflict']);
    }
    expect(await show(id)).toEqual(body);
  });

  it('replaces with the same settings, and revokes the old key at once or after some hours', async () => {
    const settings = { ...SIMPLE, models: ['a'], ipRanges: ['10.0.0.0/8'], requestsPerMinute: 7 };
    const old = await created(owner, settings);
    const now = await replace(owner, old.id, 0);
    expect(now.body.secret).toMatch(/^sk-gw-[\w-]{43}$/);
    expect(now.body.key).toMatchObject({ ...settings, state: 'usable', mine: true });
    expect(now.body.key.id).not.toBe(old.id);
    expect((await show(old.id)).state).toBe('revoked');

    // The hours count from PostgreSQL's clock, whatever the dashboard's is.
    dashboard.setNow(Date.now() + 365 * DAY_MS);
    const later = await replace(owner, now.body.key.id, 12);
    dashboard.setNow(undefined);
    const leaving = await show(now.body.key.id);
    expect(leaving.state).toBe('revoking');
    expect(Math.abs((leaving.revokedAtMs ?? 0) - Date.now() - 12 * HOUR_MS)).toBeLessThan(60_000);
    expect((await replace(owner, leaving.id, 1)).body.problem).toBe('conflict');
    expect((await edit(owner, leaving.id, { name: 'Still here' })).body.state).toBe('revoking');
    expect((await revoke(owner, leaving.id)).body.state).toBe('revoked');
    expect((await show(later.body.key.id)).state).toBe('usable');
  });

  it('replaces no key that has expired', async () => {
    const { id } = await created(owner, { ...SIMPLE, expiresAtMs: Date.now() + HOUR_MS });
    await sql(dashboard.databaseUrl, `update keys set expires_at = now() where id = '${id}'`);
    expect((await replace(owner, id, 0)).body.message).toContain('expired');
  });

  it.each([[-1], [721], [1.5], ['1'], [null]])('refuses %j hours', async (hours) => {
    const { id } = await created();
    const reply = await owner.send('POST', `${path}/${id}/replacement`, { revokeOldAfterHours: hours });
    expect(reply.body.fields).toEqual({ revokeOldAfterHours: 'A whole number from 0 to 720.' });
  });
});

describe('a member', () => {
  it('sees every key and manages the own ones', async () => {
    const own = await created(member);
    expect((await edit(member, own.id, { name: 'Mine' })).body.name).toBe('Mine');
    const replaced = await replace(member, own.id, 0);
    expect(replaced.status).toBe(200);
    expect((await revoke(member, replaced.body.key.id)).body.state).toBe('revoked');
  });

  it('cannot change keys of others', async () => {
    const other = await created(owner);
    expect((await member.get<KeyView>(`${path}/${other.id}`)).body).toEqual({ ...other, mine: false });
    const tries = [
      await edit(member, other.id, { name: 'Mine' }),
      await revoke(member, other.id),
      await replace(member, other.id, 0),
    ];
    expect(tries.map(({ status, body }) => [status, body.problem])).toEqual(tries.map(() => [403, 'not_allowed']));
    expect(await show(other.id)).toEqual(other);
  });

  it('loses a key to an owner who replaces it', async () => {
    const own = await created(member);
    const { body } = await replace(owner, own.id, 0);
    expect(body.key.createdBy).toBe(ownerEmail);
    expect((await revoke(member, body.key.id)).status).toBe(403);
  });
});

describe('an organization with very many keys', () => {
  const fill = (id: string, keys: number, revoked: boolean) =>
    sql(
      dashboard.databaseUrl,
      `insert into keys (id, organization_id, name, hash, last4, scopes, revoked_at, revocation_decided_at)
       select 'key-${id.slice(-12)}${revoked ? '0' : '1'}' || lpad(n::text, 13, '0'), '${id}', 'k', sha256(('${id} ${revoked} ' || n)::bytea), 'abcd',
         '{chat}', ${revoked ? 'now(), now()' : 'null, null'}
       from generate_series(1, ${keys}) n`,
    );

  it('cannot make more keys, but may revoke, and sees all that are not revoked', async () => {
    const id = await dashboard.addOrganization('Many');
    const browser = await dashboard.signedIn(await dashboard.addUser({ in: [id, 'owner'] }));
    const base = `/api/organizations/${id}/keys`;
    await fill(id, 1_200, true);
    const first = await browser.send<CreatedKeyView>('POST', base, SIMPLE);
    await fill(id, 999, false);
    const full = await browser.send('POST', base, SIMPLE);
    expect([full.status, full.body.problem]).toEqual([409, 'conflict']);
    const replaced = await browser.send('POST', `${base}/${first.body.key.id}/replacement`, { revokeOldAfterHours: 1 });
    expect(replaced.body.problem).toBe('conflict');
    const { keys } = (await browser.get<{ keys: KeyView[] }>(base)).body;
    expect(keys.filter(({ state }) => state === 'usable')).toHaveLength(1_000);
    expect(keys.filter(({ state }) => state === 'revoked')).toHaveLength(1_000);
    await browser.send('POST', `${base}/${first.body.key.id}/revocation`);
    expect((await browser.send('POST', base, SIMPLE)).status).toBe(200);
  });

  it('can make a limited number of keys a day, including those that were revoked', async () => {
    const id = await dashboard.addOrganization('Restless');
    const browser = await dashboard.signedIn(await dashboard.addUser({ in: [id, 'member'] }));
    const base = `/api/organizations/${id}/keys`;
    await fill(id, 2_999, true);
    const last = await browser.send<CreatedKeyView>('POST', base, SIMPLE);
    expect(last.status).toBe(200);
    const refused = [
      await browser.send('POST', base, SIMPLE),
      await browser.send('POST', `${base}/${last.body.key.id}/replacement`, { revokeOldAfterHours: 0 }),
    ];
    expect(refused.map(({ body }) => body.problem)).toEqual(['conflict', 'conflict']);
    await sql(
      dashboard.databaseUrl,
      `update keys set created_at = now() - interval '25 hours' where organization_id = '${id}'`,
    );
    expect((await browser.send('POST', base, SIMPLE)).status).toBe(200);
  });
});

describe('the use of a key', () => {
  it('is shown with the last time and address, and the spend of today', async () => {
    const { id } = await created();
    dashboard.setNow(Date.UTC(2027, 0, 15, 12));
    await sql(
      dashboard.databaseUrl,
      `insert into key_activity values ('${id}', to_timestamp(1795000000.5), '203.0.113.5');
       insert into key_daily_spend values ('${id}', '2027-01-15', 12345), ('${id}', '2027-01-14', 99)`,
    );
    const used = { lastUsedAtMs: 1_795_000_000_500, lastAddress: '203.0.113.5', spentTodayNanoUsd: '12345' };
    expect(await show(id)).toMatchObject(used);
    const { keys } = (await owner.get<{ keys: KeyView[] }>(path)).body;
    expect(keys.find((key) => key.id === id)).toMatchObject(used);
  });
});

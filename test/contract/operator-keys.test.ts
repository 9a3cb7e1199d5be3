import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { newKeySecret } from '#core/key-secret.ts';
import { BY, DAY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';
import { type Json, operatorCommands } from './operator-commands.ts';

describe('keys on the operator command line', () => {
  const database = opened(openAudited);

  const { run, done, refusal } = operatorCommands(() => database.url);
  const newOrganization = async (...flags: string[]) =>
    String((await done('org', 'create', '--name', 'Acme', ...flags)).id);
  const newKey = async (org: string, ...flags: string[]) =>
    String((await done('key', 'create', '--org', org, '--name', 'CI', '--scopes', 'chat', ...flags)).id);

  it('creates a key that authenticates, shows it once, and stores only its hash', async () => {
    const org = await newOrganization('--rpm', '100');
    const flags =
      '--scopes chat,usage:read --models a,b --ips 10.0.0.0/8 --expires 2099-01-31 --rpm 100 --daily-budget 1 --monthly-budget 20 --lifetime-budget 0.5';
    const note = ['--note', ' Ask Bo Berg '];
    const created = await done('key', 'create', '--org', org, '--name', 'CI', ...note, ...flags.split(' '));
    expect(created).toEqual({
      id: expect.stringMatching(/^key-[0-9A-Z]{26}$/),
      key: expect.stringMatching(/^sk-gw-[A-Za-z0-9_-]{43}$/),
      ...{
        org_id: org,
        name: 'CI',
        note: 'Ask Bo Berg',
        last4: String(created.key).slice(-4),
        state: 'usable',
        scopes: ['chat', 'usage:read'],
      },
      ...{ models: ['a', 'b'], ips: ['10.0.0.0/8'], rpm: 100, tpm: null, daily_budget: 1 },
      ...{ monthly_budget: 20, lifetime_budget: 0.5 },
      ...{ expires_at: '2099-01-31T00:00:00.000Z', revoked_at: null, created_at: expect.any(String) },
    });
    const hash = createHash('sha256').update(String(created.key)).digest();
    expect((await database.keys.findByHash(hash, DAY))?.key.id).toBe(created.id);
    const { key, ...shown } = created;
    expect(await done('key', 'list', '--org', org)).toEqual({ keys: [shown] });
    expect(await done('key', 'show', String(created.id))).toEqual(shown);
    expect(await refusal('refused', 'key', 'show', `key-${'0'.repeat(26)}`)).toContain('There is no key');
    const withLineEnd = ['--org', org, '--name', 'B', '--scopes', 'chat', '--note', 'a\nb'];
    expect(await refusal('usage', 'key', 'create', ...withLineEnd)).toContain('--note takes 1 to 500 visible');
    const [{ dump } = { dump: '' }] = await sql<{ dump: string }>(
      database.url,
      "select string_agg(keys::text, '') as dump from keys",
    );
    expect(dump).not.toContain(String(key).slice(6));
    expect(await done('key', 'revoke', String(created.id))).toMatchObject({
      state: 'revoked',
      revoked_at: expect.any(String),
    });
    expect((await database.keys.findByHash(hash, DAY))?.key.revokedAtMs).toBeDefined();
  });

  it('warns of models that the gateway does not have, and of an expiry in the past', async () => {
    const org = await newOrganization();
    const key = ['--org', org, '--name', 'CI', '--scopes', 'chat', '--models', 'known,typo', '--expires', '2020-01-31'];
    const expired = 'The key has expired already.';
    // No process has reported its configuration.
    expect(await done('key', 'create', ...key)).toHaveProperty('warning', expired);
    await sql(
      database.url,
      `insert into gateway_processes (id, host, worker, pid, started_at, reported_at, report, configuration, configuration_loaded_at)
       values (gen_random_uuid(), 'h', 0, 1, now(), now(), '{}', '{"models":[{"id":"known"}]}', now())`,
    );
    const warning = `The configuration in force has no model typo. ${expired}`;
    const created = await run('key', 'create', ...key);
    expect(created).toMatchObject({ json: { warning }, text: expect.stringMatching(`\nwarning: ${warning}$`) });
    const { id } = await done('key', 'create', ...key);
    const models = ['--models', 'known', '--expires', 'none'];
    expect(await done('key', 'update', String(id), '--expires', 'none')).toHaveProperty('warning');
    expect(await done('key', 'update', String(id), ...models)).not.toHaveProperty('warning');
    await sql(database.url, 'delete from gateway_processes');
  });

  it('creates and changes no key if it cannot read what it would warn of', async () => {
    const org = await newOrganization();
    const id = await newKey(org, '--models', 'a');
    const before = await done('key', 'list', '--org', org);
    await sql(database.url, 'alter table gateway_processes rename to away');
    try {
      const create = await run('key', 'create', '--org', org, '--name', 'B', '--scopes', 'chat', '--models', 'a');
      const update = await run('key', 'update', id, '--name', 'B');
      expect([create.kind, update.kind]).not.toContain('done');
    } finally {
      await sql(database.url, 'alter table away rename to gateway_processes');
    }
    // Otherwise the only showing of a key would be lost.
    expect(await done('key', 'list', '--org', org)).toEqual(before);
  });

  it('revokes all of several keys or none, and lists keys as CSV', async () => {
    const org = await newOrganization();
    const make = async (name: string) =>
      String((await done('key', 'create', '--org', org, '--name', name, '--scopes', 'chat')).id);
    const ids = [await make('=1+1'), await make('B'), await make('C')];
    const [a = '', b = '', c = ''] = ids;
    const unknown = `key-${'0'.repeat(26)}`;
    expect(await refusal('refused', 'key', 'revoke', a, unknown)).toContain(unknown);
    expect(await refusal('refused', 'key', 'revoke', a, 'B')).toContain('"B"');
    const stateOf = async () => ((await done('key', 'list', '--org', org)).keys as Json[]).map(({ state }) => state);
    expect(await stateOf()).toEqual(['usable', 'usable', 'usable']);
    expect(await done('key', 'revoke', b, c, b)).toMatchObject({
      keys: [
        { id: b, state: 'revoked' },
        { id: c, state: 'revoked' },
      ],
    });
    expect(await stateOf()).toEqual(['usable', 'revoked', 'revoked']);
    const csv = await run('key', 'list', '--org', org, '--csv');
    const lines = csv.kind === 'done' ? csv.text.split('\r\n').map((line) => line.split(',').slice(0, 5)) : [];
    const of = (id: string, name: string, state: string) => [id, name, expect.stringMatching(/^sk-gw-…/), '', state];
    expect(lines).toEqual([
      ['key_id', 'name', 'key', 'member', 'status'],
      of(c, 'C', 'revoked'),
      of(b, 'B', 'revoked'),
      of(a, "'=1+1", 'usable'),
    ]);
    expect(await refusal('usage', 'key', 'list', '--org', org, '--csv', '--json')).toMatch(/^Give --csv or --json/);
  });

  it('shows the same state of a key in the list, in its details and in the CSV, also during a replacement', async () => {
    const org = await newOrganization();
    const old = await newKey(org);
    const { identity } = newKeySecret(Date.now());
    const tomorrow = Date.now() + 86_400_000;
    await database.administration.replaceKey(org, old, { ...identity, oldRevokedAtMs: tomorrow }, BY);
    const expired = await newKey(org, '--expires', '2020-01-31');
    const states = [
      { id: old, state: 'revoking' },
      { id: identity.id, state: 'usable' },
      { id: expired, state: 'expired' },
    ];
    const { keys } = await done('key', 'list', '--org', org);
    expect((keys as Json[]).map(({ id, state }) => ({ id, state }))).toEqual(states);
    expect(await done('key', 'show', old)).toMatchObject({ state: 'revoking' });
    const text = await run('key', 'list', '--org', org);
    const csv = await run('key', 'list', '--org', org, '--csv');
    for (const { id, state } of states) {
      expect(text).toMatchObject({ text: expect.stringMatching(new RegExp(`${id}  …\\S{4} +${state} `)) });
      expect(csv).toMatchObject({ text: expect.stringMatching(new RegExp(`${id},CI,[^,]*,[^,]*,${state},`)) });
    }
  });

  it('updates only the given settings; none clears; the audit log has the actor', async () => {
    const org = await newOrganization();
    const id = await newKey(
      org,
      ...['--note', 'Ask Bo', '--models', 'a', '--ips', '10.0.0.0/8', '--expires', '2099-01-31'],
      ...'--rpm 5 --tpm 9 --daily-budget 1 --monthly-budget 20 --lifetime-budget 0.5'.split(' '),
    );
    const before = await done('key', 'show', id);
    expect(await done('key', 'update', id)).toEqual(before);
    const events = () => database.events(id);
    expect(await events()).toHaveLength(1);

    const change = '--name New --note Old --scopes usage:read --models b,c --ips ::1 --expires 2096-02-29';
    const limits = '--rpm 6 --tpm 10 --daily-budget 2 --monthly-budget 21 --lifetime-budget 0.000000001';
    const changed = {
      ...before,
      ...{ name: 'New', note: 'Old', scopes: ['usage:read'], models: ['b', 'c'], ips: ['::1'] },
      ...{ expires_at: '2096-02-29T00:00:00.000Z', rpm: 6, tpm: 10 },
      ...{ daily_budget: 2, monthly_budget: 21, lifetime_budget: 1e-9 },
    };
    expect(await done('key', 'update', id, ...change.split(' '), ...limits.split(' '))).toEqual(changed);
    expect(await done('key', 'show', id)).toEqual(changed);
    expect(await done('key', 'update', id, '--monthly-budget', '3')).toEqual({ ...changed, monthly_budget: 3 });

    const clearable = ['note', 'models', 'ips', 'expires', 'rpm', 'tpm'];
    const budgets = ['daily-budget', 'monthly-budget', 'lifetime-budget'];
    const none = [...clearable, ...budgets].flatMap((flag) => [`--${flag}`, 'none']);
    expect(await done('key', 'update', id, ...none)).toEqual({
      ...changed,
      ...{ note: null, models: null, ips: null, expires_at: null, rpm: null, tpm: null },
      ...{ daily_budget: null, monthly_budget: null, lifetime_budget: null },
    });
    const made = await events();
    expect(made.map(({ action }) => action)).toEqual(['key.created', ...Array(3).fill('key.updated')]);
    expect(made[2]).toMatchObject({
      actor: `${userInfo().username}@${hostname()}`,
      changes: { monthlyBudgetNanoUsd: ['21000000000', '3000000000'] },
    });
  });

  it('refuses an impossible update, and changes nothing', async () => {
    const org = await newOrganization('--rpm', '10', '--daily-budget', '2');
    const id = await newKey(org);
    const before = await done('key', 'show', id);
    const update = ['key', 'update', id, '--name', 'New'];
    expect(await refusal('refused', ...update, '--rpm', '11')).toBe("--rpm is above the organization's limit of 10.");
    expect(await refusal('refused', ...update, '--daily-budget', '2.1')).toContain('limit of 2 USD');
    expect(await refusal('usage', ...update, '--rpm', '0', '--scopes', 'none')).toMatch(
      /--scopes takes .*\n--rpm takes /,
    );
    expect(await refusal('usage', 'key', 'update', id, '--name', ' ')).toContain('--name takes');
    expect(await refusal('usage', 'key', 'update')).toContain('ID is missing.');
    for (const args of [
      ['key', 'show', 'sk-gw-secret'],
      ['key', 'revoke', 'sk-gw-secret'],
      ['key', 'list', '--org', 'sk-gw-secret'],
    ]) {
      const said = await refusal('refused', ...args);
      expect(said).toContain('`key list` has them');
      expect(said).not.toContain('secret');
    }
    for (const args of [
      ['key', 'sk-gw-secret'],
      ['key', 'list', 'sk-gw-secret'],
      ['key', 'list', '--sk-gw-secret'],
      ['key', 'create', '--org', org, '--name', 'A', '--scopes', 'sk-gw-secret'],
      ['org', 'credit', org, 'sk-gw-secret'],
    ])
      expect(await refusal('usage', ...args)).not.toContain('secret');
    expect(await refusal('refused', 'user', 'disable', 'sk-gw-secret')).not.toContain('secret');
    expect(await refusal('refused', 'key', 'update', 'CI')).toContain('There is no key "CI"');
    expect(await refusal('refused', 'key', 'update', `key-${'0'.repeat(26)}`, '--rpm', '1')).toContain(
      'There is no key',
    );
    expect(await done('key', 'show', id)).toEqual(before);
    await done('key', 'revoke', id);
    expect(await refusal('refused', ...update)).toBe(`The key ${id} is revoked: create another one.`);
    expect(await done('key', 'show', id)).toMatchObject({ name: 'CI', state: 'revoked' });
  });
});

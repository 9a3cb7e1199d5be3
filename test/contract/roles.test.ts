import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { sumUpCostDays } from '#database/costs/cost-days.ts';
import { ROLES, type Role } from '#database/schema/roles.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { addCustomer, type Customer, createEmptyDatabase, openStore, settlementOf, sql } from '../harness/database.ts';
import { loginOf } from '../harness/database-logins.ts';

/**
 * The rights of each role of roles.sql, on a database that `gateway migrate` made.
 * test/integration/security/roles.test.ts shows that they suffice.
 */
let url = '';
let customer: Customer;
const as = {} as Record<Role, string>;

beforeAll(async () => {
  url = await createEmptyDatabase();
  expect(await runCommandLine(['migrate'], { DATABASE_URL: url })).toMatchObject({ json: { roles: 'granted' } });
  for (const role of ROLES) as[role] = await loginOf(url, role);
  const store = await openStore(url);
  customer = await addCustomer(store);
  await store.ledger.charge(settlementOf(customer));
  await store.close();
});

const attempt = (role: Role, statement: string): Promise<string> =>
  sql(as[role], statement).then(
    () => 'done',
    (error: unknown) => (error instanceof pg.DatabaseError ? (error.code ?? '') : String(error)),
  );
const FORBIDDEN = '42501';

const FORBIDDEN_TO: Readonly<Record<Role, readonly string[]>> = {
  gateway_process: [
    'select from users',
    'select from sessions',
    'select from password_links',
    'select from audit_log',
    'select from saved_views',
    "update users set password_hash = 'x'",
    "insert into keys (id, organization_id, name, hash, last4, scopes) select 'key-0', organization_id, 'x', sha256('x'), 'xxxx', scopes from keys",
    "update keys set scopes = '{chat}'",
    'update organizations set rpm = null',
    'update accounts set balance_nano_usd = balance_nano_usd + 1, total_credits_nano_usd = total_credits_nano_usd + 1',
    "select add_credit('org', 1, null, null, 'me')",
    "insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, actor) values ('org', 1, 'credit', 1, 1, 'me')",
    'delete from generations',
    'update ledger_state set epoch = gen_random_uuid()',
    "update request_log set address = 'x'",
    'delete from request_log',
    'delete from provider_attempts',
    'delete from schema_migrations',
    'do $$ begin lock table accounts in exclusive mode; end $$',
  ],
  gateway_dashboard: [
    "insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, actor) values ('org', 1, 'credit', 1, 1, 'me')",
    'update accounts set balance_nano_usd = balance_nano_usd + 1, total_credits_nano_usd = total_credits_nano_usd + 1',
    "insert into accounts (organization_id, balance_nano_usd, total_credits_nano_usd) values ('org', 1, 1)",
    "update keys set hash = sha256('mine')",
    'update keys set organization_id = organization_id',
    "update users set email = 'x@example.com'",
    'select response from idempotency_keys',
    'select mirror_key from ledger_state',
    'select identity_key from ledger_state',
    'update ledger_state set epoch = gen_random_uuid()',
    'delete from audit_log',
    "update audit_log set actor = 'x'",
    'delete from generations',
    "select drop_day('request_log', '2020-01-01')",
    "select record_provider_attempts('{}'::provider_attempt[])",
  ],
  gateway_operator: [
    'select from saved_views',
    'update accounts set balance_nano_usd = balance_nano_usd + 1, total_credits_nano_usd = total_credits_nano_usd + 1',
    'delete from ledger_entries',
    'delete from audit_log',
    'select response from idempotency_keys',
    'select mirror_key from ledger_state',
    'select identity_key from ledger_state',
  ],
  gateway_backup: [
    "update users set password_hash = 'x'",
    'delete from sessions',
    "insert into audit_log (id, actor, action) values ('evt', 'x', 'x.x')",
    "select add_credit('org', 1, null, null, 'me')",
    "select make_day('request_log', '2026-01-01')",
    'select outwait_settlements()',
  ],
};
const FORBIDDEN_TO_ALL = [
  'drop table keys',
  'truncate request_log',
  'create table mine (id integer)',
  'create schema mine',
  'alter table ledger_entries disable trigger all',
  "set session_replication_role = 'replica'",
  'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$',
  "copy (select 1) to program 'true'",
];

describe.each(ROLES)('%s', (role) => {
  test('is refused statements that are not its work', async () => {
    for (const statement of [...FORBIDDEN_TO[role], ...FORBIDDEN_TO_ALL]) {
      expect([statement, await attempt(role, statement)]).toEqual([statement, FORBIDDEN]);
    }
  });

  test('connects as every process does, and reads the ledger', async () => {
    expect(await attempt(role, 'select note_timeline(); select from ledger_entries')).toBe('done');
  });
});

describe('functions that run with the rights of their owner', () => {
  test('can be called by nobody by default, and have a fixed search path', async () => {
    const functions = await sql<{ name: string; settings: string[]; open: boolean }>(
      url,
      `select proname as name, proconfig as settings, has_function_privilege('public', oid, 'execute') as open
       from pg_proc where pronamespace = 'public'::regnamespace and prosecdef order by 1`,
    );
    expect(functions.length).toBeGreaterThan(7);
    for (const { name, settings, open } of functions) {
      expect([name, open, settings]).toEqual([name, false, expect.arrayContaining(['search_path=public, pg_temp'])]);
    }
  });

  test('do not use a temporary table of the caller', async () => {
    const before = await sql(url, 'select balance_nano_usd from accounts');
    const client = new pg.Client({ connectionString: as.gateway_operator });
    await client.connect();
    await client.query(
      'create temp table accounts as select * from public.accounts; set search_path = pg_temp, public',
    );
    await client.query('select public.add_credit($1, 5, null, null, $2)', [customer.organizationId, 'test']);
    await client.end();
    const [{ balance_nano_usd: balance } = { balance_nano_usd: '0' }] = before as { balance_nano_usd: string }[];
    expect(await sql(url, 'select balance_nano_usd from accounts')).toEqual([
      { balance_nano_usd: String(BigInt(balance) + 5n) },
    ]);
  });

  test('make no partitions of distant times, and drop no day before its retention', async () => {
    const INVALID = '22023';
    expect(await attempt('gateway_process', "select make_month('generations', '2020-01-01')")).toBe(INVALID);
    expect(
      await attempt('gateway_process', "select make_month('generations', date_trunc('month', now())::date + 1)"),
    ).toBe(INVALID);
    expect(await attempt('gateway_process', "select make_day('request_log', '2020-01-01')")).toBe(INVALID);
    expect(await attempt('gateway_process', "select make_month('accounts', '2020-01-01')")).toBe(INVALID);
    expect(await attempt('gateway_process', "select make_day('audit_log', current_date)")).toBe(INVALID);
    expect(await attempt('gateway_process', "select drop_day('generations', '2020-01-01')")).toBe(INVALID);
    expect(await attempt('gateway_process', "select drop_day('request_log', current_date - 1)")).toBe(INVALID);
    expect(await attempt('gateway_process', "select make_day('provider_attempts', '2020-01-01')")).toBe(INVALID);
    expect(await attempt('gateway_process', "select drop_day('provider_attempts', current_date - 1)")).toBe(INVALID);
    // A partition's name has the year without its era.
    expect(await attempt('gateway_process', "select drop_day('request_log', '2999-01-01 BC')")).toBe(INVALID);
  });

  test('store provider attempts for the gateway process, which the operator can read', async () => {
    expect(await attempt('gateway_process', "select record_provider_attempts('{}'::provider_attempt[])")).toBe('done');
    expect(await attempt('gateway_operator', 'select from provider_calls')).toBe('done');
  });
});

describe('rights', () => {
  test('suffice for the gateway process to write losses and checkpoints, and for the operator to read and verify them', async () => {
    const { organizationId } = customer;
    const process = await openStore(as.gateway_process);
    const { privateKey } = generateKeyPairSync('ed25519');
    expect(await process.writeCheckpoints({ privateKey, everyMs: 0 })).toBe(1);
    const loss = { amountNanoUsd: 1n, model: 'm', provider: 'p' };
    await process.ledger.lose({ generationId: 'gen-1', organizationId, reason: 'timeout', ...loss });
    await process.close();
    const run = (...args: string[]) => runCommandLine(args, { DATABASE_URL: as.gateway_operator });
    expect(await run('ledger', 'verify')).toMatchObject({ kind: 'done', json: { ok: true } });
    expect(await run('ledger', 'checkpoints')).toMatchObject({ json: [{ organization_id: organizationId }] });
    expect(await run('ledger', 'losses')).toMatchObject({ json: [{ generation_id: 'gen-1', reason: 'timeout' }] });
    const letter = `insert into dead_letters (generation_id, organization_id, reason, settlement, delivered, due_nano_usd)
      values ('gen-2', '${organizationId}', 'r', '{}', true, 1)`;
    expect(await attempt('gateway_process', letter)).toBe('done');
    expect(await run('ledger', 'dead-letters', 'forgive', 'gen-2')).toMatchObject({ kind: 'done' });
  });

  test('suffice for the gateway process to sum up costs, and for the operator and the dashboard to read them', async () => {
    const pool = new pg.Pool({ connectionString: as.gateway_process, options: '-c timezone=UTC' });
    const store = await openStore(as.gateway_process);
    const atMs = Date.now() - 5 * DAY_MS;
    const [day, model] = [utcDay(atMs), 'summed'];
    for (let charges = 1; charges <= 2; charges++) {
      await store.ledger.charge(
        settlementOf(customer, { generationId: newId('gen', atMs), createdAtMs: atMs, day, model }),
      );
      await sumUpCostDays(pool);
    }
    await Promise.all([store.close(), pool.end()]);
    for (const role of ['gateway_operator', 'gateway_dashboard'] as const) {
      const report = await runCommandLine(['costs', 'report', '--by', 'model'], { DATABASE_URL: as[role] });
      expect(report).toMatchObject({ json: expect.arrayContaining([expect.objectContaining({ model, requests: 2 })]) });
    }
    expect(await sql(url, `select requests from cost_days where model = '${model}'`)).toEqual([{ requests: '2' }]);
  });

  test('are stated for every table', async () => {
    const rights = readFileSync(new URL('../../database/schema/roles.sql', import.meta.url), 'utf8');
    const tables = await sql<{ name: string }>(
      url,
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
    );
    expect(tables.length).toBeGreaterThan(20);
    expect(tables.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(rights))).toEqual([]);
  });

  test('to back up include tables that are made later', async () => {
    await sql(url, 'create table later (id bigint generated always as identity)');
    for (const relation of ['later', 'later_id_seq'])
      expect(await attempt('gateway_backup', `select from ${relation}`)).toBe('done');
    expect(await attempt('gateway_process', 'select from later')).toBe(FORBIDDEN);
    await sql(url, 'drop table later');
  });

  test('to back up include the sequences of identity columns, which pg_dump reads', async () => {
    const [sequence] = await sql<{ name: string }>(url, `select pg_get_serial_sequence('outbox', 'id') as name`);
    expect(await attempt('gateway_backup', `select last_value from ${sequence?.name}`)).toBe('done');
  });

  test('that were granted by hand are revoked by the next migrate', async () => {
    await sql(url, 'grant update on accounts to gateway_process');
    expect(await runCommandLine(['migrate'], { DATABASE_URL: url })).toMatchObject({ json: { roles: 'granted' } });
    expect(await attempt('gateway_process', 'update accounts set sequence = sequence')).toBe(FORBIDDEN);
  });
});

test.each([
  ['a right', 'revoke select on accounts from gateway_process', 'grant select on accounts to gateway_process'],
  ['a table', 'alter table accounts rename to gone', 'alter table gone rename to accounts'],
])(
  'without %s no caller is found, as while PostgreSQL is away, and the reason says what to do',
  async (_, lose, find) => {
    const store = await openStore(as.gateway_process);
    await sql(url, lose);
    const found = await store.keys.findByHash(customer.hash, 1, 'database').catch((error: unknown) => error);
    await sql(url, find);
    await store.close();
    expect(found).toBeInstanceOf(StoreUnavailable);
    expect(String(found)).toMatch(/\(42\w{3}\) until `gateway migrate`/);
  },
);

describe('an outdated schema', () => {
  test('is migrated only by its owner, as the message says', async () => {
    const fresh = await createEmptyDatabase();
    const asProcess = await loginOf(fresh, 'gateway_process');
    const message =
      /has no schema, this release needs version \d+, and the user \S+ may not change it. Run `gateway migrate` first/;
    await expect(openStore(asProcess)).rejects.toThrow(message);
    expect(await runCommandLine(['migrate'], { DATABASE_URL: asProcess })).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(message),
    });
    expect(await runCommandLine(['migrate'], { DATABASE_URL: fresh })).toMatchObject({ kind: 'done' });
    await (await openStore(asProcess)).close();
  });

  test('is not migrated by a user without ownership', async () => {
    expect(await runCommandLine(['migrate'], { DATABASE_URL: as.gateway_operator })).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('does not own the tables'),
    });
  });
});

test('an operator command names the right that its database user lacks', async () => {
  expect(await runCommandLine(['org', 'create', '--name', 'x'], { DATABASE_URL: as.gateway_process })).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('gateway_operator'),
  });
});

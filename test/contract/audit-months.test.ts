import { describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Measured } from '#database/measured.ts';
import { createDatabase, openStore, sql } from '../harness/database.ts';
import { loginOf, migratedFor } from '../harness/database-logins.ts';

const now = new Date();
const month = (ahead: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1);
const nameOf = (ahead: number) => new Date(month(ahead)).toISOString().slice(0, 7).replace('-', '_');

async function addEvent(url: string, ms: number): Promise<string> {
  const id = newId('evt', ms);
  await sql(url, `insert into audit_log (id, actor, action) values ('${id}', 'test', 'test.done')`);
  return id;
}

async function partitions(url: string): Promise<readonly { readonly name: string; readonly rows: number }[]> {
  const found = await sql<{ name: string }>(
    url,
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_log'::regclass order by 1",
  );
  return Promise.all(
    found.map(async ({ name }) => {
      const [count] = await sql<{ rows: number }>(url, `select count(*)::integer as rows from ${name}`);
      return { name, rows: count?.rows ?? -1 };
    }),
  );
}

describe('the audit log by months', () => {
  it('has partitions for this month and three more, and a default for other times', async () => {
    const url = await createDatabase();
    // A month in which no other process has made partitions, and which does not end meanwhile.
    const first = 6;
    const clock = vi.spyOn(Date, 'now').mockReturnValue(month(first) + 10 * DAY_MS);
    await (await openStore(url)).close();
    clock.mockRestore();
    for (const ms of [month(first), month(first + 1) - 1, month(first + 3), month(first + 4)]) await addEvent(url, ms);
    const made = await partitions(url);
    expect(made.slice(made.findIndex(({ name }) => name === `audit_log_${nameOf(first)}`))).toEqual([
      { name: `audit_log_${nameOf(first)}`, rows: 2 },
      { name: `audit_log_${nameOf(first + 1)}`, rows: 0 },
      { name: `audit_log_${nameOf(first + 2)}`, rows: 0 },
      { name: `audit_log_${nameOf(first + 3)}`, rows: 1 },
      { name: 'audit_log_other', rows: 1 },
    ]);
  });

  it('is append-only, also through the names of its partitions', async () => {
    const url = await createDatabase();
    for (const ms of [Date.now(), month(9)]) await addEvent(url, ms);
    const tables = ['audit_log', ...(await partitions(url)).filter(({ rows }) => rows > 0).map(({ name }) => name)];
    expect(tables).toHaveLength(3);
    for (const table of tables) {
      for (const statement of [`update ${table} set actor = 'x'`, `delete from ${table}`, `truncate ${table}`]) {
        await expect(sql(url, statement), statement).rejects.toThrow(`${table} is append-only`);
      }
    }
  });

  it('is written by the dashboard only through the parent table, and other roles make no months', async () => {
    const ownersUrl = await createDatabase();
    const url = await migratedFor(ownersUrl, 'gateway_dashboard');
    await addEvent(url, month(0));
    const partition = `audit_log_${nameOf(0)}`;
    for (const statement of [
      `insert into ${partition} (id, actor, action) values ('${newId('evt', Date.now())}', 'x', 'x.x')`,
      `delete from ${partition}`,
      `alter table audit_log detach partition ${partition}`,
      `drop table ${partition}`,
    ]) {
      await expect(sql(url, statement), statement).rejects.toMatchObject({ code: '42501' });
    }
    const backup = await loginOf(ownersUrl, 'gateway_backup');
    expect(await sql(backup, `select actor from ${partition}`)).toEqual([{ actor: 'test' }]);
    await expect(
      sql(backup, `select make_month('audit_log', '${now.toISOString().slice(0, 7)}-01')`),
    ).rejects.toMatchObject({ code: '42501' });
    await expect(sql(url, "select make_month('audit_log', '2020-01-01')")).rejects.toMatchObject({ code: '22023' });
  });

  it('is measured with all of its months by the gateway process, which may not read it', async () => {
    const ownersUrl = await createDatabase();
    const url = await migratedFor(ownersUrl, 'gateway_process');
    const measured = Promise.withResolvers<Measured>();
    const store = await openStore(url, { onMeasured: measured.resolve });
    const { auditLogBytes: bytes } = await measured.promise;
    // Each empty index has one page.
    expect(bytes).toBeGreaterThan(4 * 2 * 8_192);
    await store.close();
    await sql(
      ownersUrl,
      `insert into audit_log (id, actor, action) select id_floor('evt', now() + n * interval '20 days') || lpad(n::text, 16, '0'), 'x', 'x.x'
       from generate_series(1, 3) m, generate_series(0, 4) n on conflict do nothing`,
    );
    await sql(
      ownersUrl,
      `insert into dead_letters (generation_id, organization_id, reason, settlement, delivered, resolution, resolved_at)
       values ('gen-1', 'org-1', 'x', '{}', true, null, null), ('gen-2', 'org-1', 'x', '{}', true, 'forgiven', now())`,
    );
    const grown = Promise.withResolvers<Measured>();
    const machine = Date.now;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => machine() + 60_000);
    const again = await openStore(url, { onMeasured: grown.resolve });
    const after = await grown.promise;
    clock.mockRestore();
    expect(after.auditLogBytes).toBeGreaterThan(bytes);
    expect(after.deadLetters).toBe(1);
    expect(Math.round(after.clockAheadMs / 1_000)).toBe(60);
    await again.close();
  });

  it('is in the log if its measurement fails, or cannot be taken', async () => {
    const onMeasured = () => {
      throw new TypeError('a bug');
    };
    const store = await openStore(await createDatabase(), { onMeasured });
    const line = { level: 'warn', message: 'the database could not be measured' };
    await expect.poll(() => store.logged).toContainEqual(line);
    await store.close();
  });

  it('loses a month that its owner detaches, and keeps the others', async () => {
    const url = await createDatabase();
    const [old, kept] = [await addEvent(url, month(0)), await addEvent(url, month(1))];
    const partition = `audit_log_${nameOf(0)}`;
    await sql(url, `set lock_timeout = '2s'; alter table audit_log detach partition ${partition}`);
    expect(await sql(url, 'select id from audit_log')).toEqual([{ id: kept }]);
    expect(await sql(url, `select id from ${partition}`)).toEqual([{ id: old }]);
    await sql(url, `drop table ${partition}`);
    // A late row of that month goes to the default partition.
    await addEvent(url, month(0));
    expect((await partitions(url)).at(-1)).toEqual({ name: 'audit_log_other', rows: 1 });
  });
});

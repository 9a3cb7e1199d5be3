import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { migrate } from '#database/schema/migrate.ts';
import { createDatabase, createEmptyDatabase, openStore, sql } from '../harness/database.ts';
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

/** A database as the release before left it: without months. */
async function beforeMonths(): Promise<string> {
  const url = await createEmptyDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'gw-migrations-'));
  await cp(new URL('../../database/migrations/', import.meta.url), folder, { recursive: true });
  const later = (await readdir(folder)).filter((file) => file >= '0024');
  await Promise.all(later.map((file) => rm(join(folder, file))));
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  await migrate(pool, pathToFileURL(`${folder}/`));
  await pool.end();
  await rm(folder, { recursive: true });
  return url;
}

async function migrated(url: string): Promise<void> {
  await (await openStore(url)).close();
}

/** The plan by which PostgreSQL ran a statement. */
async function migratedWithNotices(url: string): Promise<readonly (string | undefined)[]> {
  const notices: (string | undefined)[] = [];
  const pool = new pg.Pool({ connectionString: url, max: 1, options: '-c client_min_messages=debug1' });
  pool.on('connect', (client) => client.on('notice', ({ message }) => notices.push(message)));
  await migrate(pool);
  await pool.end();
  return notices;
}

describe('the audit log by months', () => {
  it('has this month and three more, and a default for what is beyond', async () => {
    const url = await createDatabase();
    await migrated(url);
    for (const ms of [month(0), month(1) - 1, month(3), month(4)]) await addEvent(url, ms);
    expect(await partitions(url)).toEqual([
      { name: `audit_log_${nameOf(0)}`, rows: 2 },
      { name: `audit_log_${nameOf(1)}`, rows: 0 },
      { name: `audit_log_${nameOf(2)}`, rows: 0 },
      { name: `audit_log_${nameOf(3)}`, rows: 1 },
      { name: 'audit_log_other', rows: 1 },
    ]);
  });

  it('keeps the rows of before where they are, as the partition of everything up to the month after next', async () => {
    const url = await beforeMonths();
    const ids = [await addEvent(url, month(-20)), await addEvent(url, Date.now())];
    const where = "select pg_relation_filepath('%') as path";
    const [former] = await sql(url, where.replace('%', 'audit_log'));
    const notices = await migratedWithNotices(url);
    await migrated(url);
    const before = `audit_log_before_${nameOf(2)}`;
    expect(await sql(url, where.replace('%', before))).toEqual([former]);
    ids.push(await addEvent(url, Date.now()), await addEvent(url, month(2)));
    expect(await partitions(url)).toEqual([
      { name: `audit_log_${nameOf(2)}`, rows: 1 },
      { name: `audit_log_${nameOf(3)}`, rows: 0 },
      { name: before, rows: 3 },
      { name: 'audit_log_other', rows: 0 },
    ]);
    expect((await sql<{ id: string }>(url, 'select id from audit_log')).map(({ id }) => id).sort()).toEqual(ids.sort());
    // Otherwise writers would wait while a large log is scanned.
    expect(notices).toContain(`partition constraint for table "${before}" is implied by existing constraints`);
    expect(await sql(url, `select from pg_constraint where conname = '${before}'`)).toEqual([]);
  });

  it('is written on by a process of the release before, on the connection that it has', async () => {
    const url = await beforeMonths();
    const former = new pg.Client({ connectionString: url });
    await former.connect();
    const ids: string[] = [];
    const add = async () => {
      ids.push(newId('evt', Date.now()));
      const text = 'insert into audit_log (id, actor, action, subject_name, changes) values ($1, $2, $3, $4, $5)';
      await former.query({ name: 'insert_audit_event', text, values: [ids.at(-1), 'test', 'test.done', 'x', '{}'] });
    };
    // Prepared before, and planned for good after some times.
    for (let time = 0; time < 6; time++) await add();
    await migrated(url);
    await add();
    await former.end();
    expect((await sql<{ id: string }>(url, 'select id from audit_log')).map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  it('goes on after rows from a clock that was ahead', async () => {
    const url = await beforeMonths();
    await addEvent(url, month(30) + 1);
    await migrated(url);
    await addEvent(url, Date.now());
    expect(await partitions(url)).toEqual([
      { name: `audit_log_before_${nameOf(31)}`, rows: 2 },
      { name: 'audit_log_other', rows: 0 },
    ]);
  });

  it('is neither changed nor emptied, by whatever name a partition is called', async () => {
    const url = await beforeMonths();
    await addEvent(url, Date.now());
    await migrated(url);
    for (const ms of [month(2), month(9)]) await addEvent(url, ms);
    const tables = ['audit_log', ...(await partitions(url)).filter(({ rows }) => rows > 0).map(({ name }) => name)];
    expect(tables).toHaveLength(4);
    for (const table of tables) {
      for (const statement of [`update ${table} set actor = 'x'`, `delete from ${table}`, `truncate ${table}`]) {
        await expect(sql(url, statement), statement).rejects.toThrow(`${table} is append-only`);
      }
    }
  });

  it('is written by the dashboard through the whole table only, and nobody else makes its months', async () => {
    const ownersUrl = await createDatabase();
    const url = await migratedFor(ownersUrl, 'gateway_dashboard');
    await migrated(url);
    await addEvent(url, Date.now());
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
      sql(backup, `select make_audit_log_month('${now.toISOString().slice(0, 7)}-01')`),
    ).rejects.toMatchObject({ code: '42501' });
    await expect(sql(url, "select make_audit_log_month('2020-01-01')")).rejects.toMatchObject({ code: '22023' });
  });

  it('is measured with all of its months, by the gateway process that may not read it', async () => {
    const ownersUrl = await createDatabase();
    const url = await migratedFor(ownersUrl, 'gateway_process');
    const measured = Promise.withResolvers<number>();
    const store = await openStore(url, { onAuditLogBytes: measured.resolve });
    const bytes = await measured.promise;
    // Empty indexes have a page each.
    expect(bytes).toBeGreaterThan(4 * 2 * 8_192);
    await store.close();
    await sql(
      ownersUrl,
      `insert into audit_log (id, actor, action) select id_floor('evt', now() + n * interval '20 days') || lpad(n::text, 16, '0'), 'x', 'x.x'
       from generate_series(1, 3) m, generate_series(0, 4) n on conflict do nothing`,
    );
    const grown = Promise.withResolvers<number>();
    const again = await openStore(url, { onAuditLogBytes: grown.resolve });
    expect(await grown.promise).toBeGreaterThan(bytes);
    await again.close();
  });

  it('gives up a month that its owner detaches, and everything else stays', async () => {
    const url = await createDatabase();
    await migrated(url);
    const [old, kept] = [await addEvent(url, month(0)), await addEvent(url, month(1))];
    const partition = `audit_log_${nameOf(0)}`;
    await sql(url, `set lock_timeout = '2s'; alter table audit_log detach partition ${partition}`);
    expect(await sql(url, 'select id from audit_log')).toEqual([{ id: kept }]);
    expect(await sql(url, `select id from ${partition}`)).toEqual([{ id: old }]);
    await sql(url, `drop table ${partition}`);
    // A late row of that month is not lost.
    await addEvent(url, month(0));
    expect((await partitions(url)).at(-1)).toEqual({ name: 'audit_log_other', rows: 1 });
  });
});

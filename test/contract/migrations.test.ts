import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { makePartitions } from '#database/partitions/partitions.ts';
import { migrate, migrateWithRoles, SchemaMismatch } from '#database/schema/migrate.ts';
import { readSchemaFiles } from '#database/schema/schema-files.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { addCustomer, createDatabase, createEmptyDatabase, openStore, settlementOf, sql } from '../harness/database.ts';
import { migratedFor } from '../harness/database-logins.ts';

/** Migrations of a release that is newer than this one by `LATER.length`. */
const LATER = ['later', 'last'];

describe('migrations', () => {
  let url = '';
  let pool: pg.Pool;
  let folder = '';
  /** The version of this code. */
  let ours = 0;
  const nameOf = (ahead: number) => `${String(ours + ahead).padStart(4, '0')}_${LATER[ahead - 1]}`;
  const write = (ahead: number, text = `create table ${LATER[ahead - 1]} (id integer)`) =>
    writeFile(join(folder, `${nameOf(ahead)}.sql`), text);
  const theirs = () => pathToFileURL(`${folder}/`);
  beforeEach(async () => {
    url = await createDatabase();
    pool = new pg.Pool({ connectionString: url });
    folder = await mkdtemp(join(tmpdir(), 'gw migrations '));
    const { migrations, version } = await readSchemaFiles();
    ours = version;
    for (const { name, sql: text } of migrations.slice(1)) await writeFile(join(folder, `${name}.sql`), text);
  });
  afterEach(async () => {
    await pool.end();
    await rm(folder, { recursive: true });
  });

  it('apply once, also when several processes start together', async () => {
    const empty = await createEmptyDatabase();
    const pools = Array.from({ length: 4 }, () => new pg.Pool({ connectionString: empty }));
    const applied = await Promise.all(pools.map((each) => migrate(each)));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    await Promise.all(
      pools.map(async (each) => {
        expect(await migrate(each)).toEqual([]);
        await each.end();
      }),
    );
  });

  it('run after the baseline, in an empty database and in one that has it already', async () => {
    await write(1);
    const { migrations } = await readSchemaFiles();
    const names = migrations.map(({ name }) => name);
    expect(names[0]).toBe('baseline');
    const empty = new pg.Pool({ connectionString: await createEmptyDatabase() });
    expect(await migrate(empty, theirs())).toEqual([...names, nameOf(1), 'functions']);
    await empty.end();
    expect(await migrate(pool, theirs())).toEqual([nameOf(1), 'functions']);
    expect(await migrate(pool, theirs())).toEqual([]);
  });

  it('let code start on the schema of the next migration, because old processes may start during a roll-out', async () => {
    await write(1);
    await migrate(pool, theirs());
    expect(await migrate(pool)).toEqual([]);
    await expect(migrateWithRoles(pool)).rejects.toThrow('newer than this release');
    await (await openStore(url)).close();
    await write(2);
    await migrate(pool, theirs());
    await expect(migrate(pool)).rejects.toThrow(
      `The database schema is at version ${ours + 2}, newer than this release (${ours}) can use`,
    );
    await expect(openStore(url)).rejects.toThrow('newer than this release');
  });

  it.each([
    [0, 'starts'],
    [1, 'refuses'],
  ])('can state which code they serve: from version ours + %i on, our code %s', async (above, outcome) => {
    await write(1);
    await write(2, `-- Last.\n-- Serves code from version ${ours + above} on.\ncreate table last (id integer)`);
    await migrate(pool, theirs());
    const started = migrate(pool).then(
      () => 'starts',
      () => 'refuses',
    );
    expect(await started).toBe(outcome);
  });

  it('refuse a file that was changed after it was applied', async () => {
    await write(1);
    await migrate(pool, theirs());
    await appendFile(join(folder, `${nameOf(1)}.sql`), '-- harmless?\n');
    await expect(migrate(pool, theirs())).rejects.toThrow(`${nameOf(1)} differs from the one that was applied`);
  });

  it('roll back a file that fails', async () => {
    await write(1, 'create table half (id integer); select 1 / 0');
    await expect(migrate(pool, theirs())).rejects.toThrow(`${nameOf(1)} failed and was rolled back`);
    expect(
      await sql(url, "select to_regclass('half') as half, max(version) as version from schema_migrations"),
    ).toEqual([{ half: null, version: ours }]);
  });

  it('roll back the last file if the functions after it cannot be made', async () => {
    await migrate(pool);
    await sql(url, 'alter function id_floor(text, timestamptz) rename to other_floor');
    await sql(
      url,
      "create function id_floor(prefix text, moment timestamptz) returns integer language sql as 'select 1'",
    );
    await write(1);
    await expect(migrate(pool, theirs())).rejects.toThrow(`${nameOf(1)} failed and was rolled back`);
    expect(
      await sql(url, "select to_regclass('later') as later, max(version) as version from schema_migrations"),
    ).toEqual([{ later: null, version: ours }]);
  });

  it('refuse files with a gap in their numbers', async () => {
    await write(2);
    await expect(migrate(pool, theirs())).rejects.toThrow(`${nameOf(2)} is out of sequence`);
  });

  it('refuse a database from before the baseline, and change nothing', async () => {
    const old = await createEmptyDatabase();
    await sql(
      old,
      `create table schema_migrations (version integer primary key, name text not null, checksum text not null,
         applied_at timestamptz not null default now(), serves_from integer);
       insert into schema_migrations (version, name, checksum) values (1, '0001_accounts', 'x'), (2, '0002_ledger', 'x')`,
    );
    const message = 'The database was made before release 0.2.0, and cannot be upgraded.';
    await expect(openStore(old)).rejects.toThrow(message);
    expect(await runCommandLine(['migrate'], { DATABASE_URL: old })).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(message),
    });
    expect(await sql(old, "select tablename from pg_tables where schemaname = 'public'")).toEqual([
      { tablename: 'schema_migrations' },
    ]);
  });
});

describe('functions', () => {
  const source = async (url: string) => sql(url, "select prosrc from pg_proc where proname = 'id_floor'");
  const CHANGE =
    "create or replace function id_floor(prefix text, moment timestamptz) returns text language sql as $$ select 'x' $$";

  it('are replaced by those of the code that starts, with their rights, unless the schema is newer', async () => {
    const url = await createDatabase();
    const pool = new pg.Pool({ connectionString: url });
    await migrateWithRoles(pool);
    const [ours] = await source(url);
    const rights =
      "select has_function_privilege('gateway_process', 'charge_generations(charge[], text[], bigint[], bigint[])', 'execute') as may";
    // Simulates code with other functions at the same version.
    await sql(url, `${CHANGE}; update schema_migrations set functions = 'others'`);
    expect(await migrate(pool)).toEqual(['functions']);
    expect(await source(url)).toEqual([ours]);
    expect(await sql(url, rights)).toEqual([{ may: true }]);
    const [{ version } = { version: 0 }] = await sql<{ version: number }>(
      url,
      'select max(version) as version from schema_migrations',
    );
    await sql(
      url,
      `${CHANGE}; insert into schema_migrations (version, name, checksum, serves_from, functions)
       values (${version + 1}, 'later', 'x', ${version}, 'theirs')`,
    );
    expect(await migrate(pool)).toEqual([]);
    expect(await source(url)).not.toEqual([ours]);
    await pool.end();
  });

  it('that are missing stop a process without the right to make them; others of the same version do not', async () => {
    const url = await createDatabase();
    const pool = new pg.Pool({ connectionString: await migratedFor(url, 'gateway_process') });
    await sql(url, 'update schema_migrations set functions = null');
    const refused = migrate(pool);
    await expect(refused).rejects.toThrow(SchemaMismatch);
    await expect(refused).rejects.toThrow(/ lacks its functions, .* may not change it\. Run `gateway migrate` first/);
    // During a roll-out an old process may have to start.
    await sql(url, "update schema_migrations set functions = 'others'");
    expect(await migrate(pool)).toEqual([]);
    await pool.end();
  });

  it('that were changed by hand are replaced by the next migrate', async () => {
    const url = await createDatabase();
    const pool = new pg.Pool({ connectionString: url });
    await migrate(pool);
    const before = await source(url);
    await sql(url, CHANGE);
    await migrateWithRoles(pool);
    expect(await source(url)).toEqual(before);
    await pool.end();
  });
});

describe('partitions of generations', () => {
  it('are made for this month and three more, and contain the ids of their months', async () => {
    const url = await createEmptyDatabase();
    const store = await openStore(url);
    const customer = await addCustomer(store);
    const now = new Date();
    const month = (ahead: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1);
    const moments = [month(0), month(1) - 1, month(1), month(3), month(4) - 1, month(4), month(-1)];
    for (const moment of moments) {
      await store.ledger.charge(settlementOf(customer, { generationId: newId('gen', moment), createdAtMs: moment }));
    }
    const rows = await sql<{ partition: string; n: number }>(
      url,
      'select tableoid::regclass::text as partition, count(*)::int as n from generations group by 1 order by 1',
    );
    const name = (ahead: number) => `generations_${new Date(month(ahead)).toISOString().slice(0, 7).replace('-', '_')}`;
    expect(rows).toEqual(
      [
        { partition: name(0), n: 2 },
        { partition: name(1), n: 1 },
        { partition: name(3), n: 2 },
        { partition: 'generations_other', n: 2 },
      ].sort((a, b) => (a.partition < b.partition ? -1 : 1)),
    );
    await store.close();
  });

  it('are made once by processes that start together', async () => {
    const url = await createDatabase();
    await (await openStore(url)).close();
    const warnings: string[] = [];
    const log = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message), error: () => {} };
    const pool = new pg.Pool({ connectionString: url });
    const later = Date.now() + 250 * 86_400_000;
    await Promise.all([1, 2, 3].map(() => makePartitions(pool, later, log)));
    await pool.end();
    expect(warnings).toEqual([]);
  });

  it('that cannot be made are reported, and others are made', async () => {
    const url = await createDatabase();
    const store = await openStore(url);
    const soon = Date.now() + 200 * 86_400_000;
    // A row of that month, which no role may move.
    await sql(url, `insert into audit_log (id, actor, action) values ('${newId('evt', soon)}', 'x', 'key.created')`);
    const warnings: string[] = [];
    const log = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message), error: () => {} };
    const pool = new pg.Pool({ connectionString: url });
    await makePartitions(pool, soon, log);
    await pool.end();
    expect(warnings).toEqual(['a partition of audit_log could not be made or dropped now']);
    const [made] = await sql<{ n: number }>(
      url,
      "select count(*)::int as n from pg_inherits where inhparent = 'audit_log'::regclass",
    );
    // The default, four from opening the store, and the three months after the blocked one.
    expect(made?.n).toBeGreaterThanOrEqual(8);
    await store.close();
  });
});

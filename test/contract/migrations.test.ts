import { appendFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { makePartitions } from '#database/partitions/month-partitions.ts';
import { migrate, migrateWithRoles, readMigrations } from '#database/schema/migrate.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { addCustomer, createEmptyDatabase, openStore, settlementOf, sql, waitsForLock } from '../harness/database.ts';

/** The last migration of the release that people have. */
const FORMER_RELEASE = 23;

describe('migrations', () => {
  let url = '';
  let pool: pg.Pool;
  let folder = '';
  /** How many there are, and so the number of the last. */
  let count = 0;
  const numbered = (version: number) => String(version).padStart(4, '0');
  beforeEach(async () => {
    url = await createEmptyDatabase();
    pool = new pg.Pool({ connectionString: url });
    folder = await mkdtemp(join(tmpdir(), 'gw migrations '));
    await cp(new URL('../../database/migrations/', import.meta.url), folder, { recursive: true });
    count = (await readdir(folder)).length;
  });
  afterEach(async () => {
    await pool.end();
    await rm(folder, { recursive: true });
  });
  const ours = () => pathToFileURL(`${folder}/`);

  it('apply once, when several processes start together too', async () => {
    const pools = Array.from({ length: 4 }, () => new pg.Pool({ connectionString: url }));
    const applied = await Promise.all(pools.map((each) => migrate(each)));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(await migrate(pool)).toEqual([]);
    await Promise.all(pools.map((each) => each.end()));
  });

  it('keep no process out that connects while another one replaces what every connection calls', async () => {
    for (const name of await readdir(folder)) if (name >= '0022') await rm(join(folder, name));
    await migrate(pool, ours());
    const identity = await readFile(
      new URL('../../database/migrations/0022_ledger_identity.sql', import.meta.url),
      'utf8',
    );
    const migrating = await pool.connect();
    await migrating.query('begin');
    await migrating.query(identity);
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const other = createPool(url, 1, PATIENT, log);
    const connected = other.query('select 1 as one');
    connected.catch(() => undefined);
    await expect.poll(() => waitsForLock(url)).toBe(true);
    await migrating.query('commit');
    migrating.release();
    expect((await connected).rows).toEqual([{ one: 1 }]);
    await other.end();
  });

  it('let code start on the schema of the migration after it: in the middle of a roll-out an old process may have to', async () => {
    await writeFile(join(folder, `${numbered(count + 1)}_later.sql`), 'create table later (id integer)');
    expect(await migrate(pool, ours())).toHaveLength(count + 1);
    expect(await migrate(pool)).toEqual([]);
    await expect(migrateWithRoles(pool)).rejects.toThrow('newer than this release');
    await (await openStore(url)).close();
    await writeFile(join(folder, `${numbered(count + 2)}_last.sql`), 'create table last (id integer)');
    await migrate(pool, ours());
    await expect(migrate(pool)).rejects.toThrow(
      `The database schema is at version ${count + 2}, newer than this release (${count}) can use`,
    );
    await expect(openStore(url)).rejects.toThrow('newer than this release');
  });

  it.each([
    [0, 'starts'],
    [1, 'refuses'],
  ])('may say themselves which code they serve: from %i above ours on, it %s', async (above, outcome) => {
    await writeFile(join(folder, `${numbered(count + 1)}_later.sql`), 'create table later (id integer)');
    const serves = `-- Serves code from version ${count + above} on.\n`;
    await writeFile(
      join(folder, `${numbered(count + 2)}_last.sql`),
      `-- Last.\n${serves}create table last (id integer)`,
    );
    await migrate(pool, ours());
    const started = migrate(pool).then(
      () => 'starts',
      () => 'refuses',
    );
    expect(await started).toBe(outcome);
  });

  it('serve the release before, whose processes may have to start anew in the middle of a roll-out', async () => {
    const later = (await readMigrations()).filter(({ version }) => version > FORMER_RELEASE);
    expect(later.filter(({ servesFrom }) => servesFrom > FORMER_RELEASE).map(({ name }) => name)).toEqual([]);
  });

  it('note which code they serve on a database whose record has no such column yet', async () => {
    await migrate(pool, ours());
    await sql(url, 'alter table schema_migrations drop column serves_from');
    expect(await migrate(pool)).toEqual([]);
    await writeFile(join(folder, `${numbered(count + 1)}_later.sql`), 'create table later (id integer)');
    expect(await migrate(pool, ours())).toHaveLength(1);
    expect(await migrate(pool)).toEqual([]);
  });

  it('refuse a file that was changed after it was applied', async () => {
    await migrate(pool, ours());
    await appendFile(join(folder, '0002_ledger.sql'), '-- harmless?\n');
    await expect(migrate(pool, ours())).rejects.toThrow('0002_ledger differs from the one that was applied');
  });

  it('leave nothing of a file that fails', async () => {
    await writeFile(join(folder, `${numbered(count + 1)}_broken.sql`), 'create table half (id integer); select 1 / 0');
    await expect(migrate(pool, ours())).rejects.toThrow(`${numbered(count + 1)}_broken failed and was rolled back`);
    expect(
      await sql(url, "select to_regclass('half') as half, max(version) as version from schema_migrations"),
    ).toEqual([{ half: null, version: count }]);
  });

  it('leave keys revoked that were, whatever the clock says since', async () => {
    const files = (await readdir(folder)).filter((file) => file >= '0008');
    await Promise.all(files.map((file) => rm(join(folder, file))));
    await migrate(pool, ours());
    const id = (kind: string) => `${kind}-${'0'.repeat(26)}`;
    await sql(
      url,
      `insert into organizations (id, name, concurrency) values ('${id('org')}', 'Acme', 1);
       insert into accounts values ('${id('org')}');
       insert into keys (id, organization_id, name, hash, last4, scopes, revoked_at)
       values ('${id('key')}', '${id('org')}', 'k', sha256('k'), 'abcd', '{chat}', now() + interval '1 hour')`,
    );
    const store = await openStore(url);
    expect(await store.administration.key(id('org'), id('key'))).toMatchObject({ revoked: true });
    await store.close();
  });

  it('refuse files that are not numbered one after the other', async () => {
    await writeFile(join(folder, `${numbered(count + 2)}_gap.sql`), 'select 1');
    await expect(migrate(pool, ours())).rejects.toThrow(`${numbered(count + 2)}_gap is out of sequence`);
  });
});

describe('partitions of generations', () => {
  it('are made for this month and three more, and take the ids of their months', async () => {
    const url = await createEmptyDatabase();
    const store = await openStore(url);
    const customer = await addCustomer(store);
    const now = new Date();
    const month = (ahead: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1);
    const moments = [month(0), month(1) - 1, month(1), month(3), month(4) - 1, month(4), month(-1)];
    for (const moment of moments) {
      await store.ledger.settle(settlementOf(customer, { generationId: newId('gen', moment), createdAtMs: moment }));
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

  it('are made by one of the processes that start together', async () => {
    const url = await createEmptyDatabase();
    await (await openStore(url)).close();
    const warnings: string[] = [];
    const log = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message), error: () => {} };
    const pool = new pg.Pool({ connectionString: url });
    const later = Date.now() + 250 * 86_400_000;
    await Promise.all([1, 2, 3].map(() => makePartitions(pool, later, log)));
    await pool.end();
    expect(warnings).toEqual([]);
  });

  it('that cannot be made are reported, and nothing else breaks', async () => {
    const url = await createEmptyDatabase();
    const store = await openStore(url);
    const customer = await addCustomer(store);
    const soon = Date.now() + 200 * 86_400_000;
    await store.ledger.settle(settlementOf(customer, { generationId: newId('gen', soon) }));
    const warnings: string[] = [];
    const log = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message), error: () => {} };
    const pool = new pg.Pool({ connectionString: url });
    await makePartitions(pool, soon, log);
    await pool.end();
    expect(warnings).toEqual(['a partition of generations could not be made now']);
    const [made] = await sql<{ n: number }>(
      url,
      "select count(*)::int as n from pg_inherits where inhparent = 'generations'::regclass",
    );
    // The default, four from opening the store, and the three months after the one that is blocked.
    expect(made?.n).toBeGreaterThanOrEqual(8);
    await store.close();
  });
});

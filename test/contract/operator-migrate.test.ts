import { expect, it } from 'vitest';
import { readSchemaFiles } from '#database/schema/schema-files.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { createEmptyDatabase, sql } from '../harness/database.ts';

it('brings an empty database to the schema of this code, and changes nothing the second time', async () => {
  const url = await createEmptyDatabase();
  const { version, migrations } = await readSchemaFiles();
  const migrated = { kind: 'done', json: { ok: true, version, name: migrations.at(-1)?.name } };
  expect(await runCommandLine(['migrate'], { DATABASE_URL: url })).toMatchObject(migrated);
  const applied = 'select version, applied_at from schema_migrations order by version';
  const first = await sql(url, applied);
  expect(first).toHaveLength(migrations.length);
  expect(await runCommandLine(['migrate'], { DATABASE_URL: url })).toMatchObject(migrated);
  expect(await sql(url, applied)).toEqual(first);
});

it('is refused without a database', async () => {
  const result = await runCommandLine(['migrate'], { DATABASE_URL: 'postgres://127.0.0.1:1/none' });
  expect(result).toMatchObject({ kind: 'refused', message: expect.stringContaining('PostgreSQL is not reachable') });
});

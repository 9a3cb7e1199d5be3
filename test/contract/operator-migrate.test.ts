import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { createEmptyDatabase, sql } from '../harness/database.ts';

it('brings an empty database to the schema of this code, and changes nothing the second time', async () => {
  const url = await createEmptyDatabase();
  const files = readdirSync(new URL('../../database/migrations', import.meta.url)).filter((name) =>
    name.endsWith('.sql'),
  );
  const newest = files.sort().at(-1) ?? '';
  const migrated = { kind: 'done', json: { ok: true, version: Number(newest.slice(0, 4)), name: expect.any(String) } };
  expect(await runCommandLine(['migrate'], { DATABASE_URL: url })).toMatchObject(migrated);
  const applied = 'select version, applied_at from schema_migrations order by version';
  const first = await sql(url, applied);
  expect(first).toHaveLength(files.length);
  expect(await runCommandLine(['migrate'], { DATABASE_URL: url })).toMatchObject(migrated);
  expect(await sql(url, applied)).toEqual(first);
});

it('is refused without a database', async () => {
  const result = await runCommandLine(['migrate'], { DATABASE_URL: 'postgres://127.0.0.1:1/none' });
  expect(result).toMatchObject({ kind: 'refused', message: expect.stringContaining('PostgreSQL is not reachable') });
});

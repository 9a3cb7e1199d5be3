import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { StoreUnavailable } from '../store-unavailable.ts';
import { MIGRATION_LOCK } from './advisory-locks.ts';
import { asStoreError } from './unavailable.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

const FOLDER = new URL('./migrations/', import.meta.url);
const FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/;
/** How long one migration, or waiting for another process that migrates, may take. */
const MIGRATION_TIMEOUT_MS = 120_000;

/**
 * Brings the schema to the version of this code: numbered files, each in a transaction with its record, under a lock that makes processes
 * which start together take turns. Throws when the database was migrated by newer code, or by other files than ours.
 */
export async function migrate(pool: pg.Pool, folder: URL = FOLDER): Promise<readonly string[]> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect().catch((error: unknown) => {
    throw asStoreError(error);
  });
  try {
    await exec(client, `set statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
    await exec(client, `select pg_advisory_lock(${MIGRATION_LOCK})`);
    return await applyMissing(client, migrations);
  } finally {
    // The lock and the settings belong to the session, so the session ends here.
    client.release(true);
  }
}

async function applyMissing(client: pg.PoolClient, migrations: readonly Migration[]): Promise<readonly string[]> {
  await exec(
    client,
    `create table if not exists schema_migrations (
       version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`,
  );
  const { rows } = await exec(client, 'select version, checksum from schema_migrations order by version');
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  const done = new Set<number>();
  for (const row of rows as { version: number; checksum: string }[]) {
    const ours = known.get(row.version);
    if (!ours) throw new Error(newerThanCode(row.version, migrations.length));
    if (ours.checksum !== row.checksum) throw new Error(changedAfterwards(ours));
    done.add(row.version);
  }
  const missing = migrations.filter((migration) => !done.has(migration.version));
  for (const migration of missing) await apply(client, migration);
  return missing.map((migration) => migration.name);
}

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  await exec(client, 'begin');
  try {
    await exec(client, migration.sql);
    await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.checksum,
    ]);
    await exec(client, 'commit');
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    throw new Error(`migration ${migration.name} failed and was rolled back`, { cause: error });
  }
}

/** The connection's own time-out is meant for requests; a migration may take longer. */
async function exec(client: pg.PoolClient, sql: string): Promise<pg.QueryResult> {
  // `query_timeout` is read from the statement by pg, but missing from its types.
  const statement = { text: sql, query_timeout: MIGRATION_TIMEOUT_MS + 1_000 };
  try {
    return await client.query(statement);
  } catch (error) {
    throw asStoreError(error);
  }
}

/** Those of this code, in their order. */
export async function readMigrations(folder: URL = FOLDER): Promise<readonly Migration[]> {
  const migrations: Migration[] = [];
  for (const file of (await readdir(folder)).sort()) {
    const match = FILE.exec(file);
    if (!match) throw new Error(`${file} is not named like 0001_what_it_does.sql`);
    const sql = await readFile(new URL(file, folder), 'utf8');
    const checksum = createHash('sha256').update(sql).digest('hex');
    migrations.push({ version: Number(match[1]), name: file.slice(0, -'.sql'.length), sql, checksum });
  }
  migrations.forEach((migration, index) => {
    if (migration.version !== index + 1) throw new Error(`migration ${migration.name} is out of sequence`);
  });
  return migrations;
}

function newerThanCode(version: number, ours: number): string {
  return `The database schema is at version ${version}, newer than this release (${ours}). Run the newer release, or restore a backup.`;
}

function changedAfterwards(migration: Migration): string {
  return `Migration ${migration.name} differs from the one that was applied to this database. Migrations never change once released.`;
}

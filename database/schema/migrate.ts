import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { MIGRATION_LOCK } from '../connection/advisory-locks.ts';
import { asStoreError } from '../connection/unavailable.ts';
import { createRoles, grantRights } from './roles.ts';

/** The schema is not for this code, or not yet: the message says what to do. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /**
   * The version of the oldest code that still runs on the schema after it, so that old processes
   * may restart in the middle of a roll-out.
   */
  readonly servesFrom: number;
}

const FOLDER = new URL('../migrations/', import.meta.url);
const FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/;
/**
 * A line of its own in a migration that serves older code than that before it, or only the newest.
 */
const SERVES = /^-- Serves code from version (\d+) on\.$/m;
/** How long one migration, or waiting for another process that migrates, may take. */
const MIGRATION_TIMEOUT_MS = 120_000;

/**
 * Brings the schema to the version of this code: numbered files, each in a transaction with its
 * record, under a lock that makes processes which start together take turns. Rejects with
 * SchemaMismatch when newer code made the schema one that this code does not know how to use, when
 * it was made by other files than ours, or when it lacks something and this user may not change it.
 */
export async function migrate(pool: pg.Pool, folder: URL = FOLDER): Promise<readonly string[]> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect().catch((error: unknown) => {
    throw asStoreError(error);
  });
  try {
    await exec(client, `set statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
    const { present, userName, mayMigrate } = await lookAtSchema(client);
    // Mostly there is nothing to do, and this user could do nothing.
    const missing = findMissing(migrations, present ? await appliedIn(client) : []);
    if (missing.length === 0) return [];
    if (!mayMigrate) throw new SchemaMismatch(notByThisUser(missing, migrations.length, userName));
    await exec(client, `select pg_advisory_lock(${MIGRATION_LOCK})`);
    const applied = await applyMissing(client, migrations);
    // Rights are written for the schema of this release.
    if (applied.length > 0 && folder === FOLDER) await grantRights(client);
    return applied;
  } finally {
    // The lock and the settings belong to the session, so the session ends here.
    client.release(true);
  }
}

export interface Migrated {
  readonly version: number;
  readonly name: string;
  /** `absent`: some are missing, and this user may not make them. */
  readonly roles: 'granted' | 'absent';
}

/** Migrates the schema and sets the rights of each role, also if the schema was current. */
export async function migrateWithRoles(pool: pg.Pool): Promise<Migrated> {
  await migrate(pool);
  const newest = (await readMigrations()).at(-1);
  if (newest === undefined) throw new Error('there are no migrations');
  const client = await pool.connect().catch((error: unknown) => {
    throw asStoreError(error);
  });
  try {
    await exec(client, `set statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
    await exec(client, `select pg_advisory_lock(${MIGRATION_LOCK})`);
    const { userName, mayMigrate } = await lookAtSchema(client);
    if (!mayMigrate) throw new SchemaMismatch(`The user ${userName} does not own the tables, and may not change them.`);
    // A newer release has said what the roles may do.
    const last = (await appliedIn(client)).at(-1)?.version ?? 0;
    if (last > newest.version) throw new SchemaMismatch(newerThanCode(last, newest.version));
    const granted = (await createRoles(client)) && (await grantRights(client));
    return { version: newest.version, name: newest.name, roles: granted ? 'granted' : 'absent' };
  } finally {
    client.release(true);
  }
}

interface Schema {
  readonly present: boolean;
  readonly userName: string;
  readonly mayMigrate: boolean;
}

async function lookAtSchema(client: pg.PoolClient): Promise<Schema> {
  const { rows } = await exec(
    client,
    `select t.oid is not null as present, current_user::text as "userName",
       coalesce(pg_has_role(t.relowner, 'usage'), has_schema_privilege(current_schema(), 'create'), false) as "mayMigrate"
     from (select) as one left join pg_class t on t.oid = to_regclass('schema_migrations')`,
  );
  const [schema] = rows as Schema[];
  if (schema === undefined) throw new Error('a left join of one row gave none');
  return schema;
}

async function applyMissing(client: pg.PoolClient, migrations: readonly Migration[]): Promise<readonly string[]> {
  await exec(
    client,
    `create table if not exists schema_migrations (
       version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now());
     alter table schema_migrations add column if not exists serves_from integer`,
  );
  const missing = findMissing(migrations, await appliedIn(client));
  for (const migration of missing) await apply(client, migration);
  return missing.map((migration) => migration.name);
}

export interface AppliedMigration {
  readonly version: number;
  readonly checksum: string;
  /** `null`: applied before this was recorded. */
  readonly servesFrom: number | null;
}

/** The column may not be there yet. */
export const APPLIED_MIGRATIONS = `select version, checksum, (to_jsonb(m) ->> 'serves_from')::integer as "servesFrom"
  from schema_migrations m order by version`;

/** True if code of that version runs on a schema with this migration of newer code. */
export function servesCode({ servesFrom }: AppliedMigration, version: number): boolean {
  return servesFrom !== null && servesFrom <= version;
}

async function appliedIn(client: pg.PoolClient): Promise<readonly AppliedMigration[]> {
  const { rows } = await exec(client, APPLIED_MIGRATIONS);
  return rows as AppliedMigration[];
}

function findMissing(migrations: readonly Migration[], applied: readonly AppliedMigration[]): readonly Migration[] {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  const done = new Set<number>();
  for (const one of applied) {
    const ours = known.get(one.version);
    if (ours === undefined) {
      if (!servesCode(one, migrations.length)) throw new SchemaMismatch(newerThanCode(one.version, migrations.length));
      continue;
    }
    if (ours.checksum !== one.checksum) throw new SchemaMismatch(changedAfterwards(ours));
    done.add(one.version);
  }
  return migrations.filter(({ version }) => !done.has(version));
}

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  await exec(client, 'begin');
  try {
    await exec(client, migration.sql);
    await client.query('insert into schema_migrations (version, name, checksum, serves_from) values ($1, $2, $3, $4)', [
      migration.version,
      migration.name,
      migration.checksum,
      migration.servesFrom,
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

/** Migrations of this code, in order. */
export async function readMigrations(folder: URL = FOLDER): Promise<readonly Migration[]> {
  const migrations: Migration[] = [];
  for (const file of (await readdir(folder)).sort()) {
    const match = FILE.exec(file);
    if (!match) throw new Error(`${file} is not named like 0001_what_it_does.sql`);
    const sql = await readFile(new URL(file, folder), 'utf8');
    const checksum = createHash('sha256').update(sql).digest('hex');
    const version = Number(match[1]);
    const servesFrom = Number(SERVES.exec(sql)?.[1] ?? version - 1);
    migrations.push({ version, name: file.slice(0, -'.sql'.length), sql, checksum, servesFrom });
  }
  migrations.forEach((migration, index) => {
    if (migration.version !== index + 1) throw new Error(`migration ${migration.name} is out of sequence`);
  });
  return migrations;
}

function newerThanCode(version: number, ours: number): string {
  return `The database schema is at version ${version}, newer than this release (${ours}) can use. Run the newer release, or restore a backup.`;
}

function notByThisUser(missing: readonly Migration[], ours: number, userName: string): string {
  const from = ours - missing.length;
  return `The database schema is at version ${from}, this release needs ${ours}, and the user ${userName} may not change it. Run \`gateway migrate\` first, as the owner of the tables.`;
}

function changedAfterwards(migration: Migration): string {
  return `Migration ${migration.name} differs from the one that was applied to this database. Migrations never change once released.`;
}

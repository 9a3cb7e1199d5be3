import type pg from 'pg';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { MIGRATION_LOCK } from '../connection/advisory-locks.ts';
import { asStoreError } from '../connection/unavailable.ts';
import { createRoles, grantRights } from './roles.ts';
import { type Migration, readSchemaFiles, type SchemaFiles } from './schema-files.ts';

/** The schema does not fit this code. The message says what to do. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

/** Longest time of one migration, and of waiting for another process that migrates. */
const MIGRATION_TIMEOUT_MS = 120_000;

/**
 * Brings the schema to the version of this code. An empty database gets the baseline. Then each
 * migration runs in a transaction with its record, the last one together with functions and rights.
 * A lock serializes processes that start together. Returns the names of what was applied. Rejects
 * with SchemaMismatch if newer code has changed the schema incompatibly, if other files than ours
 * made it, or if something is missing and this user may not change it.
 */
export async function migrate(pool: pg.Pool, folder?: URL): Promise<readonly string[]> {
  const files = await readSchemaFiles(folder);
  return withSession(pool, async (client) => {
    const { present, userName, mayMigrate } = await lookAtSchema(client);
    const applied = present ? await appliedIn(client) : [];
    const missing = findMissing(files, applied);
    const hasEnough = mayMigrate ? hasOurFunctions : hasFunctions;
    if (missing.length === 0 && hasEnough(files, applied)) return [];
    if (!mayMigrate) throw new SchemaMismatch(notByThisUser(applied, files, userName));
    await exec(client, `select pg_advisory_lock(${MIGRATION_LOCK})`);
    return applyMissing(client, files);
  });
}

export interface Migrated {
  readonly version: number;
  readonly name: string;
  /** `absent`: some roles are missing, and this user may not create them. */
  readonly roles: 'granted' | 'absent';
}

/** Migrates, then sets this release's functions and rights, even without a new migration. */
export async function migrateWithRoles(pool: pg.Pool): Promise<Migrated> {
  await migrate(pool);
  const files = await readSchemaFiles();
  return withSession(pool, async (client) => {
    await exec(client, `select pg_advisory_lock(${MIGRATION_LOCK})`);
    const { userName, mayMigrate } = await lookAtSchema(client);
    if (!mayMigrate) throw new SchemaMismatch(`The user ${userName} does not own the tables, and may not change them.`);
    // Keeps functions and rights of a newer release.
    const newest = (await appliedIn(client)).at(-1)?.version ?? 0;
    if (newest > files.version) throw new SchemaMismatch(newerThanCode(newest, files.version));
    await transaction(client, FUNCTIONS_FAILED, () => replaceFunctions(client, files));
    const granted = (await createRoles(client)) && (await grantRights(client));
    const { version, migrations } = files;
    return { version, name: migrations[version]?.name ?? '', roles: granted ? 'granted' : 'absent' };
  });
}

/** Closes the session afterwards, because it has locks and settings. */
async function withSession<Result>(pool: pg.Pool, act: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect().catch((error: unknown) => {
    throw asStoreError(error);
  });
  try {
    await exec(client, `set statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
    return await act(client);
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

/** Applies what is still missing now that this process has the lock. */
async function applyMissing(client: pg.PoolClient, files: SchemaFiles): Promise<readonly string[]> {
  await exec(
    client,
    `create table if not exists schema_migrations (
       version integer primary key, name text not null, checksum text not null, serves_from integer not null,
       functions text, applied_at timestamptz not null default now())`,
  );
  const applied = await appliedIn(client);
  const missing = findMissing(files, applied);
  if (missing.length === 0 && hasOurFunctions(files, applied)) return [];
  const last = missing.at(-1);
  for (const migration of missing.slice(0, -1))
    await transaction(client, failureOf(migration), () => apply(client, migration));
  // Another process may start as soon as the last migration is recorded, and needs the functions
  // and rights as well.
  await transaction(client, last === undefined ? FUNCTIONS_FAILED : failureOf(last), async () => {
    if (last !== undefined) await apply(client, last);
    await replaceFunctions(client, files);
    await grantRights(client);
  });
  return [...missing.map(({ name }) => name), 'functions'];
}

export interface AppliedMigration {
  readonly version: number;
  readonly checksum: string;
  readonly servesFrom: number;
  /** Checksum of the functions that were created after this migration. Null: none were. */
  readonly functions: string | null;
}

/** Selects some columns from JSON: databases from before the baseline lack them. */
export const APPLIED_MIGRATIONS = `select version, checksum, (to_jsonb(m) ->> 'serves_from')::integer as "servesFrom",
    to_jsonb(m) ->> 'functions' as functions
  from schema_migrations m order by version`;

/** True if code of that version can run on a schema with this migration of newer code. */
export function servesCode({ servesFrom }: AppliedMigration, version: number): boolean {
  return servesFrom <= version;
}

/** True if a release before 0.2.0 created the database. The baseline does not apply to it. */
export function isBeforeBaseline(applied: readonly AppliedMigration[]): boolean {
  return applied.length > 0 && applied[0]?.version !== 0;
}

async function appliedIn(client: pg.PoolClient): Promise<readonly AppliedMigration[]> {
  const { rows } = await exec(client, APPLIED_MIGRATIONS);
  return rows as AppliedMigration[];
}

function findMissing(files: SchemaFiles, applied: readonly AppliedMigration[]): readonly Migration[] {
  if (isBeforeBaseline(applied)) throw new SchemaMismatch(BEFORE_BASELINE);
  for (const one of applied) {
    const ours = files.migrations[one.version];
    if (ours === undefined && !servesCode(one, files.version))
      throw new SchemaMismatch(newerThanCode(one.version, files.version));
    if (ours !== undefined && ours.checksum !== one.checksum) throw new SchemaMismatch(changedAfterwards(ours));
  }
  const done = new Set(applied.map(({ version }) => version));
  return files.migrations.filter(({ version }) => !done.has(version));
}

/** True if our functions are installed. Functions of newer code also serve this code. */
function hasOurFunctions({ version, functions }: SchemaFiles, applied: readonly AppliedMigration[]): boolean {
  const newest = applied.at(-1);
  return newest !== undefined && (newest.version > version || newest.functions === functions.checksum);
}

/** True if functions are installed. In a roll-out another release's of this version serve. */
function hasFunctions({ version }: SchemaFiles, applied: readonly AppliedMigration[]): boolean {
  const newest = applied.at(-1);
  return newest !== undefined && (newest.version > version || newest.functions !== null);
}

async function apply(client: pg.PoolClient, { version, name, sql, checksum, servesFrom }: Migration): Promise<void> {
  await exec(client, sql);
  await client.query('insert into schema_migrations (version, name, checksum, serves_from) values ($1, $2, $3, $4)', [
    version,
    name,
    checksum,
    servesFrom,
  ]);
}

async function replaceFunctions(client: pg.PoolClient, { functions: { sql, checksum } }: SchemaFiles): Promise<void> {
  await exec(client, sql);
  await client.query(
    'update schema_migrations set functions = $1 where version = (select max(version) from schema_migrations)',
    [checksum],
  );
}

const FUNCTIONS_FAILED = 'the functions of the schema could not be replaced';

function failureOf({ name }: Migration): string {
  return `migration ${name} failed and was rolled back`;
}

/** The functions keep the search path of the transaction that creates them. */
const SEARCH_PATH = `select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)`;

async function transaction(client: pg.PoolClient, failure: string, act: () => Promise<void>): Promise<void> {
  await exec(client, 'begin');
  try {
    await exec(client, SEARCH_PATH);
    await act();
    await exec(client, 'commit');
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    throw new Error(failure, { cause: error });
  }
}

/** Raises the connection's timeout, because a migration may take longer than a request. */
async function exec(client: pg.PoolClient, sql: string): Promise<pg.QueryResult> {
  // pg reads `query_timeout` from the statement, but its types do not have it.
  const statement = { text: sql, query_timeout: MIGRATION_TIMEOUT_MS + 1_000 };
  try {
    return await client.query(statement);
  } catch (error) {
    throw asStoreError(error);
  }
}

/** Message for a database that a release before 0.2.0 created. */
export const BEFORE_BASELINE =
  'The database was made before release 0.2.0, and cannot be upgraded. Use a new database, or the release that made this one.';

function newerThanCode(version: number, ours: number): string {
  return `The database schema is at version ${version}, newer than this release (${ours}) can use. Run the newer release, or restore a backup.`;
}

function notByThisUser(applied: readonly AppliedMigration[], ours: SchemaFiles, userName: string): string {
  const newest = applied.at(-1);
  const lacking = newest?.functions === null ? ' and lacks its functions' : '';
  const found =
    newest === undefined
      ? 'The database has no schema'
      : `The database schema is at version ${newest.version}${lacking}`;
  return `${found}, this release needs version ${ours.version}, and the user ${userName} may not change it. Run \`gateway migrate\` first, as the owner of the tables.`;
}

function changedAfterwards(migration: Migration): string {
  return `Migration ${migration.name} differs from the one that was applied to this database. Migrations never change once released.`;
}

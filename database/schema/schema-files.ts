import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

/** The baseline, which is version 0, or a later migration. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** Oldest code that runs after this migration. Old processes may restart in a roll-out. */
  readonly servesFrom: number;
}

export interface SchemaFiles {
  /** The baseline and the migrations after it, in order. */
  readonly migrations: readonly Migration[];
  /** All SQL functions, which are always replaced together. */
  readonly functions: { readonly sql: string; readonly checksum: string };
  /** Version of the last migration. */
  readonly version: number;
}

export const MIGRATIONS = new URL('../migrations/', import.meta.url);
const FUNCTIONS = new URL('./functions/', import.meta.url);
const MIGRATION_FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/;
/** States the oldest code that a migration serves, if it is not the one directly before. */
const SERVES = /^-- Serves code from version (\d+) on\.$/m;

/** Throws if a migration is missing or has a malformed name. */
export async function readSchemaFiles(folder: URL = MIGRATIONS): Promise<SchemaFiles> {
  const functionFiles = await sqlFilesIn(FUNCTIONS);
  const functionsSql = functionFiles.map(({ sql }) => sql).join('\n');
  const functions = { sql: functionsSql, checksum: checksumOf(functionsSql) };
  const migrations = [await baseline(functionsSql), ...(await sqlFilesIn(folder)).map(migrationOf)];
  migrations.forEach(({ version, name }, index) => {
    if (version !== index) throw new Error(`migration ${name} is out of sequence`);
  });
  return { migrations, functions, version: migrations.length - 1 };
}

/** The schema before all migrations: tables, then functions, then triggers. */
async function baseline(functionsSql: string): Promise<Migration> {
  const [tables, triggers] = await Promise.all([readSql('tables.sql'), readSql('triggers.sql')]);
  const sql = `${tables}\n${functionsSql}\n${triggers}`;
  return { version: 0, name: 'baseline', sql, checksum: checksumOf(`${tables}\n${triggers}`), servesFrom: 0 };
}

function migrationOf({ file, sql }: SqlFile): Migration {
  const match = MIGRATION_FILE.exec(file);
  if (!match) throw new Error(`${file} is not named like 0001_what_it_does.sql`);
  const version = Number(match[1]);
  const servesFrom = Number(SERVES.exec(sql)?.[1] ?? version - 1);
  return { version, name: file.slice(0, -'.sql'.length), sql, checksum: checksumOf(sql), servesFrom };
}

interface SqlFile {
  readonly file: string;
  readonly sql: string;
}

async function sqlFilesIn(folder: URL): Promise<readonly SqlFile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(files.map(async (file) => ({ file, sql: await readFile(new URL(file, folder), 'utf8') })));
}

function readSql(file: string): Promise<string> {
  return readFile(new URL(file, import.meta.url), 'utf8');
}

function checksumOf(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}

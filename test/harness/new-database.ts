import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { embeddedDatabaseUrl } from '#core/config/runtime-paths.ts';
import { prepareDatabase } from '#database/schema/prepare.ts';

/**
 * Template of new databases, with the current schema and its partitions. A copy costs 20 ms of CPU,
 * migrations cost 220 ms and partitions 110 ms. A run creates some 250 databases.
 */
const MIGRATED = 'migrated';

/** `migrated` copies the template above. `empty` is for tests of migrations. */
export type Schema = 'migrated' | 'empty';

export interface NewDatabase {
  /** Connects as the owner of the database. */
  readonly url: string;
  drop(): Promise<void>;
}

export async function prepareMigrated(socketDir: string): Promise<void> {
  await asAdmin(socketDir, (admin) => admin.query(`create database ${MIGRATED}`));
  const url = embeddedDatabaseUrl({ socketDir }, MIGRATED);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const stopPreparing = await prepareDatabase(url, pool, { info: () => {}, warn: () => {}, error: () => {} });
  stopPreparing();
  await pool.end();
  // A database cannot be copied while any session is connected to it, autovacuum included.
  await asAdmin(socketDir, (admin) => admin.query(`alter database ${MIGRATED} with allow_connections false`));
}

export async function newDatabase(socketDir: string, schema: Schema = 'migrated'): Promise<NewDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(socketDir, async (admin) => {
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [MIGRATED]);
    const template = schema === 'migrated' && rowCount === 1 ? MIGRATED : 'template1';
    // This strategy takes half the CPU of the default, which writes every page to the WAL.
    await admin.query(`create database ${name} template ${template} strategy file_copy`);
  });
  return {
    url: embeddedDatabaseUrl({ socketDir }, name),
    drop: () => asAdmin(socketDir, (admin) => admin.query(`drop database ${name} with (force)`)),
  };
}

async function asAdmin(socketDir: string, act: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: embeddedDatabaseUrl({ socketDir }, 'postgres') });
  await admin.connect();
  try {
    await act(admin);
  } finally {
    await admin.end();
  }
}

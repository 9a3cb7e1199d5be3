import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { embeddedDatabaseUrl } from '../../core/config/runtime-paths.ts';
import { migrate } from '../../database/schema/migrate.ts';

/**
 * A database with the schema of this code, which new ones are copied from: a copy costs 30 ms of
 * CPU, all migrations cost 220 ms, and a run makes some 200 databases. It has no partitions:
 * opening the store makes them, as in production.
 */
const MIGRATED = 'migrated';

/** `migrated` is a copy of that database; `empty` is for tests of migrations. */
export type Schema = 'migrated' | 'empty';

export interface NewDatabase {
  /** As its owner. */
  readonly url: string;
  drop(): Promise<void>;
}

export async function prepareMigrated(socketDir: string): Promise<void> {
  await asAdmin(socketDir, (admin) => admin.query(`create database ${MIGRATED}`));
  const pool = new pg.Pool({ connectionString: embeddedDatabaseUrl({ socketDir }, MIGRATED), max: 1 });
  await migrate(pool);
  await pool.end();
  // A database cannot be copied while any session is connected to it, autovacuum included.
  await asAdmin(socketDir, (admin) => admin.query(`alter database ${MIGRATED} with allow_connections false`));
}

export async function newDatabase(socketDir: string, schema: Schema = 'migrated'): Promise<NewDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(socketDir, async (admin) => {
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [MIGRATED]);
    const template = schema === 'migrated' && rowCount === 1 ? MIGRATED : 'template1';
    await admin.query(`create database ${name} template ${template}`);
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

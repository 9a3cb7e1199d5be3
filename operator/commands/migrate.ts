import { refuseTransactionPooler, TransactionPooler } from '#database/connection/transaction-pooler.ts';
import { type Migrated, migrateWithRoles, SchemaMismatch } from '#database/schema/migrate.ts';
import type { Command } from '../command-line/command.ts';
import { withPool } from '../command-line/database.ts';
import { type Result, refused } from '../command-line/result.ts';

/**
 * Migrates the database like every process that starts as the owner of the tables. If processes use
 * other database users, this must run before they start.
 */
export const MIGRATE: Command = {
  name: 'migrate',
  summary: 'Migrate the database schema, and grant the roles of the processes their rights.',
  run: ({ env }) =>
    withPool(env, async (pool, url) => {
      try {
        await refuseTransactionPooler(url);
        return done(await migrateWithRoles(pool));
      } catch (error) {
        if (error instanceof SchemaMismatch || error instanceof TransactionPooler) return refused(error.message);
        throw error;
      }
    }),
};

function done({ version, name, roles }: Migrated): Result {
  const json = { ok: true, version, name, roles };
  return { kind: 'done', json, text: `The schema is at version ${version} (${name}). ${ROLES_TEXT[roles]}` };
}

const ROLES_TEXT: Readonly<Record<Migrated['roles'], string>> = {
  granted: 'The roles have their rights.',
  absent: 'There are no roles, and this user may not create them: docs/security.md describes them.',
};

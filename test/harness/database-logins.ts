import type { Role } from '#database/schema/roles.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from './database.ts';

/**
 * The URL of the same database for a user with this role. Users belong to the whole server, so
 * tests that run side by side share them.
 */
export async function loginOf(databaseUrl: string, role: Role): Promise<string> {
  const login = `login_${role}`;
  await sql(
    databaseUrl,
    `do $$ begin
       create role ${login} login in role ${role};
     exception when duplicate_object or unique_violation then null;
     end $$`,
  );
  return databaseUrl.replace('//gateway@', `//${login}@`);
}

/** Like `loginOf`, after migrating the database to the current schema. */
export async function migratedFor(databaseUrl: string, role: Role): Promise<string> {
  const migrated = await runCommandLine(['migrate'], { DATABASE_URL: databaseUrl });
  if (migrated.kind !== 'done') throw new Error(migrated.message);
  return loginOf(databaseUrl, role);
}

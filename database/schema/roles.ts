import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { asStoreError } from '../connection/unavailable.ts';

/** Roles of the whole server, which all its databases share. Nobody signs in as these roles. */
export const ROLES = ['gateway_process', 'gateway_dashboard', 'gateway_operator', 'gateway_backup'] as const;
export type Role = (typeof ROLES)[number];

const RIGHTS = new URL('./roles.sql', import.meta.url);
const FORBIDDEN = '42501';
/** Error codes if another database of the same server created the role first. */
const IS_THERE = /^(42710|23505)$/;

/** Creates the missing roles. False: some are missing, and this user may not create them. */
export async function createRoles(client: pg.Client | pg.PoolClient): Promise<boolean> {
  for (const role of await missingRoles(client)) {
    try {
      await client.query(`create role ${role} nologin`);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw asStoreError(error);
      if (error.code === FORBIDDEN) return false;
      if (!IS_THERE.test(error.code ?? '')) throw error;
    }
  }
  return true;
}

/** Sets the rights in roles.sql, if the roles exist. The caller owns tables and migration lock. */
export async function grantRights(client: pg.Client | pg.PoolClient): Promise<boolean> {
  if ((await missingRoles(client)).length > 0) return false;
  const { rows } = await client.query<{ schema: string }>('select quote_ident(current_schema()) as schema');
  const rights = (await readFile(RIGHTS, 'utf8')).replaceAll('{schema}', rows[0]?.schema ?? 'public');
  // A query of several statements is one transaction, so no user lacks rights meanwhile.
  await client.query(rights);
  return true;
}

async function missingRoles(client: pg.Client | pg.PoolClient): Promise<readonly string[]> {
  const { rows } = await client.query<{ rolname: string }>('select rolname from pg_roles where rolname = any ($1)', [
    ROLES,
  ]);
  const present = new Set(rows.map(({ rolname }) => rolname));
  return ROLES.filter((role) => !present.has(role));
}

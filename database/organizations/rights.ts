import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { run, sql } from '../connection/connection-pool.ts';

/**
 * Locks the user. If a removal or disabling comes later, it waits and then finds what was made. If
 * it came first, this statement sees its result and finds no row.
 */
const LOCK_MAKER = sql('lock_maker')`
  select from users u where u.id = $1 and u.disabled_at is null and (u.is_operator
      or exists (select from memberships m where m.user_id = u.id and m.organization_id = $2)) for share of u`;

/** False if the user's rights ended since the request began. True for a command line (no user). */
export async function stillHasRights(
  client: pg.PoolClient,
  organizationId: string,
  { userId }: Actor,
): Promise<boolean> {
  return userId === undefined || (await run(client, LOCK_MAKER, [userId, organizationId])).length > 0;
}

import type pg from 'pg';
import type { RateLimits } from '#core/principal.ts';
import type { Actor } from '../audit/audit.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { stillHasRights } from '../organizations/rights.ts';
import { IS_ACTIVE } from './key-lookup.ts';
import type { KeyRecord, NewKey } from './key-records.ts';
import { insertKey, limitAbove, lockOrganization } from './key-rows.ts';
import { revokeHere } from './revoke-keys.ts';

/** The actor, if it is a signed-in user. */
export type Member = Actor & { readonly userId: string };

/** Serializes dashboards that make a playground key for the same user. */
const LOCK_MAKER = sql('lock_playground_maker')`select from users where id = $1 for no key update`;
const LIVING = sql('living_playground_keys')`
  select k.id from keys k
    where k.organization_id = $1 and k.created_by = $2 and k.playground and ${IS_ACTIVE} order by k.id`;

/**
 * Makes a playground key for a user in an organization. A user has at most one, so the former one
 * is revoked. Limits above the organization's are lowered to those. `undefined`: the organization
 * does not exist, or the user's rights in it have ended.
 */
export async function createPlaygroundKey(
  pool: pg.Pool,
  key: Omit<NewKey, 'playground'>,
  by: Member,
): Promise<KeyRecord | undefined> {
  return inTransaction(pool, 'begin', async (client) => {
    const organization = await lockOrganization(client, key.organizationId);
    // Locked after the organization, as in every transaction that locks both.
    await run(client, LOCK_MAKER, [by.userId]);
    if (!organization || !(await stillHasRights(client, key.organizationId, by))) return undefined;
    const living = await run<{ id: string }>(client, LIVING, [key.organizationId, by.userId]);
    await revokeHere(client, { ids: living.map(({ id }) => id) }, by);
    return insertKey(client, { ...loweredTo(organization, key), playground: true }, by);
  });
}

/** An absent limit of the key stays absent, because the organization's limit applies anyway. */
function loweredTo<Key extends RateLimits>(organization: RateLimits, key: Key): Key {
  const above = limitAbove(key, organization);
  return above ? loweredTo(organization, { ...key, [above.limit]: above.organizationLimit }) : key;
}

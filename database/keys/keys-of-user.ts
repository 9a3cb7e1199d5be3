import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { run, sql } from '../connection/connection-pool.ts';
import { lockKey } from './key-changes.ts';
import { IS_ACTIVE } from './key-lookup.ts';
import { KEY_COLUMNS, keySubject, readKey } from './key-rows.ts';
import { revokeHere } from './revoke-keys.ts';

/** The user to whom keys belong. */
export interface KeyOwner {
  readonly userId: string;
  readonly email: string;
}

/** Locks keys in one order, so that two such changes cannot deadlock. */
const ACTIVE_OF = sql('active_keys_of')`
  select k.id, k.playground from keys k
    where k.created_by = $2 and k.organization_id = coalesce($1, k.organization_id) and ${IS_ACTIVE} order by k.id`;
/** Finds the keys of a former operator by claim in organizations without a membership. */
const ACTIVE_OF_FORMER_OPERATOR = sql('active_keys_of_former_operator')`
  select k.id from keys k join users u on u.id = k.created_by
    where k.created_by = $1 and u.operator_by_claim and not u.is_operator and ${IS_ACTIVE}
      and not exists (select from memberships m where m.user_id = k.created_by and m.organization_id = k.organization_id)
    order by k.id`;
const HAND_OVER = sql('hand_key_over')`update keys k set created_by = $2 where k.id = $1 returning ${KEY_COLUMNS}`;

/** Revokes a user's active keys, of one or all organizations, in the caller's transaction. */
export async function revokeKeysOf(
  client: pg.PoolClient,
  organizationId: string | undefined,
  userId: string,
  by: Actor,
): Promise<number> {
  const keys = await activeKeysOf(client, organizationId, userId);
  await revokeHere(client, { ids: keys.map(({ id }) => id) }, by);
  return keys.length;
}

/**
 * Revokes the active keys that a former operator by claim made as an operator, because copies of
 * them may exist. Runs within the caller's transaction.
 */
export async function revokeKeysOfFormerOperator(client: pg.PoolClient, userId: string, by: Actor): Promise<void> {
  const keys = await run<{ id: string }>(client, ACTIVE_OF_FORMER_OPERATOR, [userId]);
  await revokeHere(client, { ids: keys.map(({ id }) => id) }, by);
}

/**
 * Hands the active keys of `from` in the organization over to `to`, within the caller's
 * transaction. The playground key is revoked instead, because nobody else can use it.
 */
export async function handOverKeysOf(
  client: pg.PoolClient,
  organizationId: string,
  from: KeyOwner,
  to: KeyOwner,
  by: Actor,
): Promise<void> {
  for (const { id, playground } of await activeKeysOf(client, organizationId, from.userId)) {
    if (playground) {
      await revokeHere(client, { ids: [id], organizationId }, by);
      continue;
    }
    const before = await lockKey(client, id, organizationId);
    if (!before || before.key.revoked) continue;
    const key = await readKey(client, HAND_OVER, [id, to.userId]);
    const changes = changesBetween({ belongsTo: from.email }, { belongsTo: to.email });
    await addAuditEvent(client, { action: 'key.handed_over', ...keySubject(key), changes }, by);
  }
}

function activeKeysOf(client: pg.PoolClient, organizationId: string | undefined, userId: string) {
  return run<{ id: string; playground: boolean }>(client, ACTIVE_OF, [organizationId ?? null, userId]);
}

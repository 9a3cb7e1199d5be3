import type pg from 'pg';
import type { MemberView } from '#contract/people.ts';
import { type Connection, records, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { IS_ACTIVE } from '../keys/key-lookup.ts';
import { MAX_MEMBERS } from '../users/membership-rows.ts';
import { IS_INVITED } from '../users/user-rows.ts';

const MEMBERS = `select m.user_id as "userId", u.email, m.role, ${IS_INVITED} as invited, u.disabled_at is not null as disabled,
    ${milliseconds('m.created_at')} as "createdAtMs", ${milliseconds('u.last_signed_in_at')} as "lastSignedInAtMs",
    coalesce(made.active_keys, 0) as "activeKeys"
  from memberships m join users u on u.id = m.user_id
  left join (
    select k.created_by, count(*)::integer as active_keys from keys k where k.organization_id = $1 and not k.playground and ${IS_ACTIVE}
    group by k.created_by
  ) made on made.created_by = m.user_id
  where m.organization_id = $1`;
/** Invitations reveal nothing about an account of their address. */
const INVITATIONS = `select i.id, i.email, i.role, true, false, ${milliseconds('i.created_at')}, null, 0
  from invitations i where i.organization_id = $1`;
const LIST = sql('list_members')`${MEMBERS} union all ${INVITATIONS} order by email limit ${MAX_MEMBERS}`;
const SHOW = sql('show_member')`${MEMBERS} and m.user_id = $2`;

/** Returns members, including invited ones, sorted by email address. */
export async function membersOf(pool: pg.Pool, organizationId: string): Promise<readonly MemberView[]> {
  return records<MemberView>(pool, LIST, [organizationId]);
}

export async function findMember(
  on: Connection,
  organizationId: string,
  userId: string,
): Promise<MemberView | undefined> {
  return (await records<MemberView>(on, SHOW, [organizationId, userId]))[0];
}

import type pg from 'pg';
import type { UserRow } from '#contract/operator.ts';
import { type Connection, records, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';

export type MemberRole = 'owner' | 'member';

export interface Membership {
  readonly organizationId: string;
  readonly name: string;
  readonly role: MemberRole;
  readonly suspended: boolean;
}

export interface UserRecord extends UserRow {
  /** By name. */
  readonly memberships: readonly Membership[];
}

export interface UserQuery {
  /** Part of the email address, ignoring case. Absent: all users. */
  readonly search?: string;
  /** Last address of the previous page. Only addresses after it are returned. */
  readonly afterEmail?: string;
  readonly limit: number;
}

/** SQL that is true if `users u` never signed in: no password, and no identity at an issuer. */
export const IS_INVITED =
  '(u.password_hash is null and not exists (select from user_identities i where i.user_id = u.id))';

/** Memberships of `users u`, as JSON. */
export const MEMBERSHIPS = `coalesce((
    select json_agg(
      json_build_object('organizationId', o.id, 'name', o.name, 'role', m.role, 'suspended', o.suspended_at is not null)
      order by lower(o.name), o.id)
    from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = u.id
  ), '[]') as memberships`;

const SELECT = `select u.id, u.email, u.is_operator as "isOperator", ${IS_INVITED} as invited, ${milliseconds('u.disabled_at')} as "disabledAtMs",
  ${milliseconds('u.created_at')} as "createdAtMs", ${milliseconds('u.last_signed_in_at')} as "lastSignedInAtMs", ${MEMBERSHIPS},
  (select o.name from organizations o where o.id = u.came_through) as "cameThrough" from users u`;
const SHOW = sql('show_user')`${SELECT} where u.id = $1`;
const BY_EMAIL = sql('user_by_email')`${SELECT} where u.email = $1`;
const LIST = sql('list_users')`
  ${SELECT} where ($1::text is null or strpos(u.email, lower($1)) > 0) and ($2::text is null or u.email > $2)
    order by u.email limit $3`;

export async function findUser(on: Connection, id: string): Promise<UserRecord | undefined> {
  return (await records<UserRecord>(on, SHOW, [id]))[0];
}

/** Expects an address that normalizeEmail() has normalized. */
export async function findUserByEmail(on: Connection, email: string): Promise<UserRecord | undefined> {
  return (await records<UserRecord>(on, BY_EMAIL, [email]))[0];
}

/** Sorted by email address. */
export async function listUsers(pool: pg.Pool, query: UserQuery): Promise<readonly UserRecord[]> {
  return records(pool, LIST, [query.search ?? null, query.afterEmail ?? null, query.limit]);
}

import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { newId } from '#core/ids.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import type { Actor, AuditAction, AuditChanges } from '#database/audit/audit.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { findUser, type MemberRole, type UserRecord } from '#database/users/user-rows.ts';
import { createUser } from '#database/users/users.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { BY, createDatabase, openStore, SILENT, sql, type TestStore } from '../harness/database.ts';

/**
 * A database with the parts whose changes have an actor: administration, users, memberships.
 */
export interface AuditedDatabase extends TestStore {
  readonly url: string;
  readonly pool: pg.Pool;
  addOrganization(): Promise<string>;
  /** Adds a user, who has a password and can sign in unless the options say otherwise. */
  addUser(options?: UserOptions): Promise<UserRecord>;
  /** Makes the actor a member of the organization. Creates the user if there is none. */
  addMember(organizationId: string, actor: Actor): Promise<void>;
  /** The events of a subject or organization, oldest first. */
  events(of: string): Promise<readonly Event[]>;
}

export interface UserOptions {
  readonly isOperator?: boolean;
  readonly isInvited?: boolean;
  readonly owner?: string;
  readonly member?: string;
}

export interface Event {
  readonly action: AuditAction;
  readonly organization_id: string | null;
  readonly actor: string;
  readonly actor_user_id: string | null;
  readonly address: string | null;
  readonly subject_id: string;
  readonly subject_name: string;
  readonly changes: AuditChanges;
}

/** A user in a browser. */
export const ADA: Actor = { actor: 'ada@example.com', userId: `usr-${'0'.repeat(26)}`, address: '192.0.2.7' };
export const PASSWORD_HASH = 'what the password was hashed to';

export async function openAudited(): Promise<AuditedDatabase> {
  const url = await createDatabase();
  const store = await openStore(url);
  const pool = createPool(url, 8, PATIENT, SILENT);
  return {
    ...store,
    url,
    pool,
    close: async () => {
      await pool.end();
      await store.close();
    },
    addOrganization: async () => {
      const id = newId('org', Date.now());
      const settings = { name: 'Acme', ...DEFAULT_RULES };
      await store.administration.createOrganization({ id, ...settings }, BY);
      return id;
    },
    addUser: async ({ isOperator = false, isInvited = false, owner, member } = {}) => {
      const id = newId('usr', Date.now());
      const membership = membershipOf(owner, 'owner') ?? membershipOf(member, 'member');
      const made = await createUser(
        pool,
        {
          ...{ id, isOperator, email: `${randomBytes(6).toString('hex')}@example.com` },
          ...(isInvited ? {} : { passwordHash: PASSWORD_HASH }),
          ...(membership ? { membership } : {}),
        },
        BY,
      );
      const user = await findUser(pool, id);
      if (!user) throw new Error(`no user was made: ${made.kind}`);
      return user;
    },
    addMember: async (organizationId, { userId, actor }) => {
      await sql(
        url,
        `insert into users (id, email, password_hash) values ('${userId}', '${actor}', '${PASSWORD_HASH}') on conflict (id) do nothing`,
      );
      await sql(
        url,
        `insert into memberships (user_id, organization_id, role) values ('${userId}', '${organizationId}', 'member') on conflict do nothing`,
      );
    },
    events: (of) =>
      sql<Event>(
        url,
        `select action, organization_id, actor, actor_user_id, address, subject_id, subject_name, changes
         from audit_log where '${of}' in (subject_id, organization_id) order by id`,
      ),
  };
}

function membershipOf(organizationId: string | undefined, role: MemberRole) {
  return organizationId === undefined ? undefined : { organizationId, role };
}

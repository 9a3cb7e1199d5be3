import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { invite, invitePendingUsers } from '#database/members/invitations.ts';
import { membersOf } from '#database/members/member-rows.ts';
import { addMember } from '#database/members/memberships.ts';
import { MAX_MEMBERS } from '#database/users/membership-rows.ts';
import { findUserByEmail } from '#database/users/user-rows.ts';
import { BY, sql } from '../harness/database.ts';
import { type AuditedDatabase, openAudited } from './audited-database.ts';

describe('invitations in the database', () => {
  let database: AuditedDatabase;
  beforeAll(async () => {
    database = await openAudited();
  });
  afterAll(() => database.close());

  const inviteTo = (organizationId: string, email: string) => {
    const invitation = {
      organizationId,
      email,
      role: 'member',
      tokenHash: randomBytes(32),
      byOperator: false,
    } as const;
    return invite(database.pool, { ...invitation, id: newId('usr', Date.now()) }, BY);
  };

  it('count as members, of which an organization has a thousand', async () => {
    const organizationId = await database.addOrganization();
    await sql(
      database.url,
      `insert into invitations (id, organization_id, email, role, expires_at)
       select 'usr-' || lpad(n::text, 26, '0'), '${organizationId}', n || '@many.example', 'member', now() from generate_series(1, ${MAX_MEMBERS - 1}) n`,
    );
    expect((await inviteTo(organizationId, 'last@example.com')).kind).toBe('invited');
    expect((await inviteTo(organizationId, 'more@example.com')).kind).toBe('organization_full');
    const user = await database.addUser();
    expect((await addMember(database.pool, organizationId, user.id, 'member', BY)).kind).toBe('organization_full');
    expect(await membersOf(database.pool, organizationId)).toHaveLength(MAX_MEMBERS);
  });

  it('end when their person becomes a member by another way', async () => {
    const organizationId = await database.addOrganization();
    const user = await database.addUser();
    await inviteTo(organizationId, user.email);
    await addMember(database.pool, organizationId, user.id, 'owner', BY);
    expect(await membersOf(database.pool, organizationId)).toMatchObject([{ userId: user.id, role: 'owner' }]);
    expect((await inviteTo(organizationId, user.email)).kind).toBe('already_member');
    expect((await inviteTo(`org-${'0'.repeat(26)}`, user.email)).kind).toBe('unknown_organization');
  });

  it('are what users become whom a release before invited, with the link that they were given', async () => {
    const { url, pool, addOrganization, addUser } = database;
    const [one, other] = [await addOrganization(), await addOrganization()];
    const former = `usr-${'7'.repeat(26)}`;
    const hash = randomBytes(32);
    await sql(
      url,
      `insert into users (id, email) values ('${former}', 'former@example.com');
       insert into memberships (user_id, organization_id, role, created_at) values
         ('${former}', '${one}', 'owner', now() - interval '2 days'), ('${former}', '${other}', 'member', now());
       insert into password_links (token_hash, user_id, purpose, expires_at)
         values ('\\x${hash.toString('hex')}', '${former}', 'invitation', now() + interval '3 days')`,
    );
    const here = await addUser({ owner: one });
    const reserved = await addUser({ isInvited: true, owner: one });
    const boss = await addUser({ isInvited: true, isOperator: true });
    await invitePendingUsers(pool);
    await invitePendingUsers(pool);
    expect(await findUserByEmail(pool, 'former@example.com')).toBeUndefined();
    for (const { email } of [here, reserved, boss]) expect(await findUserByEmail(pool, email)).toBeDefined();
    const rows = await sql<{ organization_id: string; token_hash: Buffer | null; open: boolean }>(
      url,
      `select id, organization_id, role, by_operator, token_hash, expires_at > now() as open from invitations
       where email = 'former@example.com' order by created_at`,
    );
    expect(rows).toMatchObject([
      { id: former, organization_id: one, role: 'owner', by_operator: false, open: true },
      { organization_id: other, role: 'member', token_hash: null, open: false },
    ]);
    expect(rows[0]?.token_hash?.equals(hash)).toBe(true);
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { invite } from '#database/members/invitations.ts';
import { membersOf } from '#database/members/member-rows.ts';
import { addMember } from '#database/members/memberships.ts';
import { MAX_MEMBERS } from '#database/users/membership-rows.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';

describe('invitations in the database', () => {
  const database = opened(openAudited);

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

  it('end when the invited user becomes a member in another way', async () => {
    const organizationId = await database.addOrganization();
    const user = await database.addUser();
    await inviteTo(organizationId, user.email);
    await addMember(database.pool, organizationId, user.id, 'owner', BY);
    expect(await membersOf(database.pool, organizationId)).toMatchObject([{ userId: user.id, role: 'owner' }]);
    expect((await inviteTo(organizationId, user.email)).kind).toBe('already_member');
    expect((await inviteTo(`org-${'0'.repeat(26)}`, user.email)).kind).toBe('unknown_organization');
  });
});

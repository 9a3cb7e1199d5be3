import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { changeAlertSettings, findAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { sendTest } from '#database/alerts/organization-messages.ts';
import { leaseMessages } from '#database/alerts/outbox.ts';
import { findMember, membersOf } from '#database/members/member-rows.ts';
import { addMember, removeMember, setRole } from '#database/members/memberships.ts';
import { MAX_MEMBERS } from '#database/users/membership-rows.ts';
import { findUser } from '#database/users/user-rows.ts';
import { createUser, setDisabled } from '#database/users/users.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { ADA, openAudited } from './audited-database.ts';

describe('memberships', () => {
  const database = opened(openAudited);

  it('begin, change and end with audit events in the organization', async () => {
    const { pool, addOrganization, addUser, events } = database;
    const organizationId = await addOrganization();
    const owner = await addUser({ owner: organizationId });
    const user = await addUser();
    const member = {
      ...{ userId: user.id, email: user.email, role: 'member', invited: false, disabled: false },
      ...{ createdAtMs: expect.any(Number), activeKeys: 0 },
    };
    expect(await addMember(pool, organizationId, user.id, 'member', ADA)).toEqual({ kind: 'added', member });
    expect(await addMember(pool, organizationId, user.id, 'owner', ADA)).toEqual({ kind: 'already_member', member });
    expect((await membersOf(pool, organizationId)).map(({ email }) => email)).toEqual([owner.email, user.email].sort());
    const asOwner = { ...member, role: 'owner' };
    const promote = () => setRole(pool, organizationId, user.id, 'owner', 'must_stay', ADA);
    expect(await promote()).toEqual({ kind: 'done', member: asOwner });
    expect(await promote()).toEqual({ kind: 'done', member: asOwner });
    expect(await findMember(pool, organizationId, user.id)).toEqual(asOwner);
    expect(await removeMember(pool, organizationId, user.id, 'must_stay', ADA)).toEqual({ kind: 'removed' });
    expect(await removeMember(pool, organizationId, user.id, 'must_stay', ADA)).toEqual({ kind: 'not_a_member' });
    expect(await promote()).toEqual({ kind: 'not_a_member' });
    expect((await findUser(pool, user.id))?.memberships).toEqual([]);
    const row = { organization_id: organizationId, actor_user_id: ADA.userId, subject_name: user.email };
    expect((await events(user.id)).slice(1)).toMatchObject([
      { ...row, action: 'user.added', changes: { role: [null, 'member'] } },
      { ...row, action: 'user.role_changed', changes: { role: ['member', 'owner'] } },
      { ...row, action: 'user.removed', changes: { role: ['owner', null] } },
    ]);
  });

  it('end with the alerts for the member', async () => {
    const { pool, addOrganization, addUser, events } = database;
    const [organizationId, other] = [await addOrganization(), await addOrganization()];
    const [ana, ben] = [await addUser({ owner: organizationId }), await addUser({ owner: organizationId })];
    const emails = ['team@example.com', ana.email, ben.email];
    for (const id of [organizationId, other])
      await changeAlertSettings(pool, id, () => ({ ...NEW_ALERTS, keyExpiry: true, emails }), BY);
    await removeMember(pool, organizationId, ana.id, 'must_stay', ADA);
    const left = ['team@example.com', ben.email];
    expect(await findAlertSettings(pool, organizationId)).toEqual({ ...NEW_ALERTS, keyExpiry: true, emails: left });
    expect((await findAlertSettings(pool, other)).emails).toEqual(emails);
    expect((await events(organizationId)).at(-1)).toMatchObject({
      ...{ action: 'alerts.updated', actor: ADA.actor, changes: { emails: { added: [], removed: [ana.email] } } },
    });
  });

  it('end with alerts that wait for the mail server', async () => {
    const { pool, addOrganization, addUser } = database;
    const organizationId = await addOrganization();
    await addUser({ owner: organizationId });
    const ana = await addUser({ member: organizationId });
    const emails = ['team@example.com', ana.email];
    await changeAlertSettings(pool, organizationId, () => ({ ...NEW_ALERTS, emails }), BY);
    expect(await sendTest(pool, organizationId)).toBe(2);
    await removeMember(pool, organizationId, ana.id, 'must_stay', ADA);
    expect((await leaseMessages(pool, 9)).map(({ receiver }) => receiver)).toEqual(['team@example.com']);
  });

  it('have the number of usable keys, which are revoked with the member or handed to an owner', async () => {
    const { pool, addOrganization, addUser, events, administration } = database;
    const organizationId = await addOrganization();
    const [ana, ben] = [await addUser({ member: organizationId }), await addUser({ member: organizationId })];
    const create = async (userId: string, expiresAtMs?: number) => {
      const id = newId('key', Date.now());
      const settings = {
        id,
        organizationId,
        name: id,
        hash: randomBytes(32),
        last4: 'abcd',
        scopes: ['chat'] as const,
      };
      const expiry = expiresAtMs === undefined ? {} : { expiresAtMs };
      await administration.createKey({ ...settings, ...expiry }, { ...ADA, userId });
      return id;
    };
    const works = await create(ana.id, Date.now() + 3_600_000);
    const expired = await create(ana.id, Date.now() - 1_000);
    const revoked = await create(ana.id);
    const other = await create(ben.id);
    await administration.revokeKey(revoked, BY, organizationId);
    const members = await membersOf(pool, organizationId);
    expect(Object.fromEntries(members.map(({ userId, activeKeys }) => [userId, activeKeys]))).toEqual({
      [ana.id]: 1,
      [ben.id]: 1,
    });
    const cy = await addUser({ owner: organizationId });
    const removed = await removeMember(pool, organizationId, ben.id, 'must_stay', ADA, { handTo: cy.id });
    expect(removed).toEqual({ kind: 'removed' });
    expect(await administration.key(organizationId, other)).toMatchObject({ revoked: false, createdBy: cy.id });
    expect((await events(other)).at(-1)).toMatchObject({
      ...{ action: 'key.handed_over', actor: ADA.actor },
      changes: { belongsTo: [ben.email, cy.email] },
    });
    await removeMember(pool, organizationId, ana.id, 'must_stay', ADA);
    expect((await administration.key(organizationId, works))?.revoked).toBe(true);
    expect((await administration.key(organizationId, expired))?.revoked).toBe(false);
    expect((await events(works)).map(({ action, actor }) => [action, actor])).toEqual([
      ['key.created', ADA.actor],
      ['key.revoked', ADA.actor],
    ]);
  });

  it('need an existing user and organization', async () => {
    const { pool, addOrganization, addUser } = database;
    const organizationId = await addOrganization();
    const { id } = await addUser();
    const nowhere = `org-${'0'.repeat(26)}`;
    expect(await addMember(pool, nowhere, id, 'member', BY)).toEqual({ kind: 'unknown_organization' });
    expect(await addMember(pool, organizationId, `usr-${'0'.repeat(26)}`, 'member', BY)).toEqual({
      kind: 'unknown_user',
    });
    expect(await membersOf(pool, organizationId)).toEqual([]);
    expect(await membersOf(pool, nowhere)).toEqual([]);
  });

  it('that end do not delete the user, invited or not', async () => {
    const { pool, addOrganization, addUser } = database;
    const organizationId = await addOrganization();
    const came = await addUser({ owner: organizationId });
    const reserved = await addUser({ isInvited: true, owner: organizationId });
    const operator = await addUser({ isInvited: true, owner: organizationId, isOperator: true });
    for (const { id } of [came, reserved, operator]) {
      expect(await removeMember(pool, organizationId, id, 'may_go', BY)).toEqual({ kind: 'removed' });
      expect(await findUser(pool, id)).toMatchObject({ memberships: [] });
    }
  });

  it('of the last owner can be ended only by an operator', async () => {
    const { pool, addOrganization, addUser } = database;
    const organizationId = await addOrganization();
    const owner = await addUser({ owner: organizationId });
    await addUser({ member: organizationId });
    // Owners who cannot sign in do not count.
    await addUser({ owner: organizationId, isInvited: true });
    await setDisabled(pool, (await addUser({ owner: organizationId })).id, true, BY);
    const demote = (who: 'must_stay' | 'may_go') => setRole(pool, organizationId, owner.id, 'member', who, BY);
    expect(await demote('must_stay')).toEqual({ kind: 'last_owner' });
    expect(await removeMember(pool, organizationId, owner.id, 'must_stay', BY)).toEqual({ kind: 'last_owner' });
    expect(await findMember(pool, organizationId, owner.id)).toMatchObject({ role: 'owner' });
    expect(await demote('may_go')).toMatchObject({ kind: 'done', member: { role: 'member' } });
    await setRole(pool, organizationId, owner.id, 'owner', 'must_stay', BY);
    expect(await removeMember(pool, organizationId, owner.id, 'may_go', BY)).toEqual({ kind: 'removed' });
  });

  it('of an owner can end if another owner signs in at the issuer without a password', async () => {
    const { pool, url, addOrganization, addUser } = database;
    const organizationId = await addOrganization();
    const [first, second] = [
      await addUser({ owner: organizationId, isInvited: true }),
      await addUser({ owner: organizationId, isInvited: true }),
    ];
    const demote = () => setRole(pool, organizationId, first.id, 'member', 'must_stay', BY);
    expect(await demote()).toEqual({ kind: 'last_owner' });
    await sql(url, `insert into user_identities (issuer, subject, user_id) values ('i', 's', '${second.id}')`);
    expect(await demote()).toMatchObject({ kind: 'done', member: { role: 'member' } });
    // The second owner is the last one now.
    expect(await removeMember(pool, organizationId, second.id, 'must_stay', BY)).toEqual({ kind: 'last_owner' });
  });

  it('keep one owner when owners remove and demote each other concurrently', async () => {
    const { pool, addOrganization, addUser } = database;
    for (let round = 0; round < 8; round++) {
      const organizationId = await addOrganization();
      const owners = [];
      for (let index = 0; index < 4; index++) owners.push(await addUser({ owner: organizationId }));
      const results = await Promise.all(
        owners.map(({ id }, index) =>
          index % 2 === 0
            ? removeMember(pool, organizationId, id, 'must_stay', BY)
            : setRole(pool, organizationId, id, 'member', 'must_stay', BY),
        ),
      );
      expect(results.filter(({ kind }) => kind === 'last_owner')).toHaveLength(1);
      expect((await membersOf(pool, organizationId)).filter(({ role }) => role === 'owner')).toHaveLength(1);
    }
  });

  it('are created once when several add the same user', async () => {
    const { pool, addOrganization, addUser, events } = database;
    const organizationId = await addOrganization();
    const { id } = await addUser();
    const add = () => addMember(pool, organizationId, id, 'member', BY);
    const kinds = (await Promise.all([add(), add(), add()])).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['added', 'already_member', 'already_member']);
    expect(await events(id)).toHaveLength(2);
  });

  it('of one organization are bounded', async () => {
    const { pool, addOrganization, addUser, url } = database;
    const organizationId = await addOrganization();
    await sql(
      url,
      `with made as (
         insert into users (id, email) select 'usr-' || lpad(n::text, 26, '0'), n || '@full.example'
         from generate_series(1, ${MAX_MEMBERS - 1}) n returning id)
       insert into memberships (user_id, organization_id, role) select id, '${organizationId}', 'member' from made`,
    );
    const users = [await addUser(), await addUser(), await addUser()];
    const kinds = await Promise.all(users.map(({ id }) => addMember(pool, organizationId, id, 'member', BY)));
    expect(kinds.map(({ kind }) => kind).sort()).toEqual(['added', 'organization_full', 'organization_full']);
    const late = { id: newId('usr', Date.now()), email: 'late@full.example', isOperator: false };
    expect(await createUser(pool, { ...late, membership: { organizationId, role: 'owner' } }, BY)).toEqual({
      kind: 'organization_full',
    });
    expect(await membersOf(pool, organizationId)).toHaveLength(MAX_MEMBERS);
  });
});

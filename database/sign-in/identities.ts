import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { revokeKeysOfFormerOperator } from '../keys/keys-of-user.ts';
import { deleteLinks, endSessions, signOut } from '../users/users.ts';

/** A user at an issuer, as named by a verified ID token. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

export interface IdentitySignIn extends Identity {
  /** Email address that the issuer has verified, normalized by normalizeEmail(). */
  readonly email: string;
  /** SHA-256 of the state of this sign-in. */
  readonly stateHash: Buffer;
  readonly hasOperatorClaim: boolean;
  /** False: passwords are off, so an account with a password is bound as well, and loses it. */
  readonly passwordsSignIn: boolean;
  /** User of the browser, whose password was verified a moment ago. */
  readonly provedUserId?: string;
  /** Id of the user, if the sign-in creates one. */
  readonly newUserId: string;
  readonly address: string;
}

export type IdentityResult =
  | { readonly kind: 'user'; readonly id: string }
  /** The state was used to sign in before. */
  | { readonly kind: 'replayed' }
  /** There is no account, invitation or claim for the address, or the user is disabled. */
  | { readonly kind: 'no_account' }
  /** The account has a password, which has to be entered to prove that it is the same person. */
  | { readonly kind: 'has_password' }
  /** The account with this address belongs to another user of the issuer. */
  | { readonly kind: 'other_identity' };

const USE_STATE = sql('use_sign_in_state')`
  insert into used_sign_in_states (state_hash, expires_at) values ($1, now() + interval '1 day') on conflict do nothing returning state_hash`;
const FORGET_STATES = sql('forget_sign_in_states')`
  delete from used_sign_in_states where state_hash in (
      select state_hash from used_sign_in_states where expires_at < now() order by expires_at limit 100 for update skip locked)`;
const COLUMNS = `u.id, u.email, u.is_operator, u.operator_by_claim, u.disabled_at is not null as disabled,
  u.password_hash is not null as has_password`;
const BY_IDENTITY = sql('user_of_identity')`
  select ${COLUMNS} from users u
    where u.id = (select i.user_id from user_identities i where i.issuer = $1 and i.subject = $2) for no key update`;
const BY_EMAIL = sql('user_for_identity')`select ${COLUMNS} from users u where u.email = $1 for no key update`;
const IS_INVITED = sql('is_address_invited')`select from invitations where email = $1 and expires_at > now() limit 1`;
const INSERT_USER = sql('insert_user_of_identity')`
  insert into users (id, email) values ($1, $2) on conflict (email) do nothing returning id`;
const BOUND_SUBJECT = sql('subject_of_user')`
  select subject from user_identities where issuer = $1 and user_id = $2`;
const BIND = sql('bind_identity')`
  insert into user_identities (issuer, subject, user_id) values ($1, $2, $3) on conflict do nothing returning user_id`;
const FORGET_PASSWORD = sql('forget_password')`
  update users set password_hash = null, password_handed_out = false where id = $1`;
const SET_OPERATOR = sql('set_operator_by_claim')`
  update users set is_operator = $2, operator_by_claim = true where id = $1`;

interface FoundUser {
  readonly id: string;
  readonly email: string;
  readonly is_operator: boolean;
  readonly operator_by_claim: boolean;
  readonly disabled: boolean;
  readonly has_password: boolean;
}

/** Finds the user of an identity. At the first sign-in, binds an existing user or creates one. */
export async function signInByIdentity(pool: pg.Pool, given: IdentitySignIn): Promise<IdentityResult> {
  return inTransaction(pool, 'begin', async (client): Promise<IdentityResult> => {
    if ((await run(client, USE_STATE, [given.stateHash])).length === 0) return { kind: 'replayed' };
    await run(client, FORGET_STATES, []);
    const [bound] = await run<FoundUser>(client, BY_IDENTITY, [given.issuer, given.subject]);
    if (bound?.disabled) return { kind: 'no_account' };
    const user = bound ?? (await bindByAddress(client, given));
    if ('kind' in user) return user;
    await followClaim(client, user, given);
    return { kind: 'user', id: user.id };
  });
}

/**
 * Binds the account with the verified address to the identity, once. Somebody else may have created
 * an account with a password and know that password. So its password is required, or is deleted if
 * passwords are off.
 */
async function bindByAddress(
  client: pg.PoolClient,
  given: IdentitySignIn,
): Promise<FoundUser | Exclude<IdentityResult, { kind: 'user' }>> {
  const { issuer, subject, email, passwordsSignIn, provedUserId } = given;
  const user = await userOfAddress(client, given);
  if (!user || user.disabled) return { kind: 'no_account' };
  const [own] = await run<{ subject: string }>(client, BOUND_SUBJECT, [issuer, user.id]);
  // The same subject: a concurrent sign-in of the same person bound it first.
  if (own) return own.subject === subject ? user : { kind: 'other_identity' };
  if (user.has_password && passwordsSignIn && provedUserId !== user.id) return { kind: 'has_password' };
  const bound = await run(client, BIND, [issuer, subject, user.id]);
  // A concurrent sign-in with another address bound the subject to another account.
  if (bound.length === 0) return { kind: 'other_identity' };
  await deleteLinks(client, user.id);
  if (user.has_password && provedUserId !== user.id) {
    await run(client, FORGET_PASSWORD, [user.id]);
    await signOut(client, user.id);
  }
  const subjectOf = { subjectId: user.id, subjectName: user.email };
  const changes = changesBetween({}, { issuer, subject });
  const by = { actor: email, userId: user.id, address: given.address };
  await addAuditEvent(client, { action: 'user.identity_bound', ...subjectOf, changes }, by);
  return user;
}

/** Finds the user with the address, or creates one who is invited or has the operator claim. */
async function userOfAddress(client: pg.PoolClient, given: IdentitySignIn): Promise<FoundUser | undefined> {
  const { email, newUserId: id, address } = given;
  const [found] = await run<FoundUser>(client, BY_EMAIL, [email]);
  if (found) return found;
  if (!given.hasOperatorClaim && (await run(client, IS_INVITED, [email])).length === 0) return undefined;
  const made = await run(client, INSERT_USER, [id, email]);
  if (made.length > 0) {
    const changes = changesBetween({}, { email, isOperator: false });
    const by = { actor: email, userId: id, address };
    await addAuditEvent(client, { action: 'user.created', subjectId: id, subjectName: email, changes }, by);
  }
  // The user was created just now, here or concurrently.
  const [user] = await run<FoundUser>(client, BY_EMAIL, [email]);
  return user;
}

/**
 * Makes the user an operator by claim, or ends that. An operator made by hand stays one.
 * `operator_by_claim` stays true afterwards, so that customers never read the name of somebody who
 * acted as the operator.
 */
async function followClaim(
  client: pg.PoolClient,
  { id, email, is_operator: isOperator, operator_by_claim: byClaim }: FoundUser,
  { hasOperatorClaim, address }: IdentitySignIn,
): Promise<void> {
  if (hasOperatorClaim === isOperator || (isOperator && !byClaim)) return;
  await run(client, SET_OPERATOR, [id, hasOperatorClaim]);
  const by = { actor: email, userId: id, address };
  if (!hasOperatorClaim) {
    await endSessions(client, id);
    await revokeKeysOfFormerOperator(client, id, by);
  }
  const changes = changesBetween({ isOperator }, { isOperator: hasOperatorClaim });
  const event = { action: 'user.operator_changed', subjectId: id, subjectName: email, changes } as const;
  await addAuditEvent(client, event, by);
}

const UNBIND = sql('unbind_identities')`delete from user_identities where user_id = $1 returning issuer, subject`;
const END_CLAIM = sql('end_operator_by_claim')`
  update users set is_operator = is_operator and not operator_by_claim where id = $1 returning email`;

/** Unbinds a user from issuers and ends all sessions. The next verified sign-in binds again. */
export async function removeIdentities(pool: pg.Pool, userId: string, by: Actor): Promise<number> {
  return inTransaction(pool, 'begin', async (client) => {
    const [user] = await run<{ email: string }>(client, END_CLAIM, [userId]);
    const removed = await run<{ issuer: string; subject: string }>(client, UNBIND, [userId]);
    await signOut(client, userId);
    await revokeKeysOfFormerOperator(client, userId, by);
    for (const identity of removed) {
      const changes = changesBetween({ ...identity }, {});
      const about = { subjectId: userId, subjectName: user?.email ?? userId };
      await addAuditEvent(client, { action: 'user.identity_removed', ...about, changes }, by);
    }
    return removed.length;
  });
}

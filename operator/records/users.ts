import { newId } from '#core/ids.ts';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { randomPassword } from '#dashboard/server/sign-in/password-rules.ts';
import type { Actor } from '#database/audit/audit.ts';
import { findUserByEmail, type UserRecord } from '#database/users/user-rows.ts';
import { type CreateUserResult, createUser, type NewUser, setPasswordHash } from '#database/users/users.ts';
import type { Pool } from '../command-line/database.ts';

/** Address of the user of `npm start` with `demo: true`. `doctor` reports it while it exists. */
export const DEMO_EMAIL = 'demo@example.com';

export interface UserWithPassword {
  readonly kind: 'created';
  readonly user: UserRecord;
  /** Shown only once. */
  readonly password: string;
}

/** `email` must be normalized by normalizeEmail(). */
export async function createUserWithPassword(
  pool: Pool,
  user: Pick<NewUser, 'email' | 'isOperator' | 'membership' | 'passwordHandedOut'>,
  by: Actor,
): Promise<UserWithPassword | Exclude<CreateUserResult, { kind: 'created' }>> {
  const { password, passwordHash } = await newPassword();
  const result = await createUser(pool, { ...user, id: newId('usr', Date.now()), passwordHash }, by);
  return result.kind === 'created' ? { ...result, password } : result;
}

/** Sets a random password and ends every session. `undefined`: the user does not exist. */
export async function resetPassword(
  pool: Pool,
  email: string,
  by: Actor,
): Promise<{ readonly user: UserRecord; readonly password: string } | undefined> {
  const user = await findUserByEmail(pool, email);
  if (!user) return undefined;
  const { password, passwordHash } = await newPassword();
  return (await setPasswordHash(pool, user.id, passwordHash, by, 'handed_out')) ? { user, password } : undefined;
}

async function newPassword() {
  const password = randomPassword();
  const passwordHash = await hashPassword(password);
  if (passwordHash === 'busy') throw new Error('one password found no turn to be hashed');
  return { password, passwordHash };
}

export function userJson(user: UserRecord) {
  return {
    id: user.id,
    email: user.email,
    operator: user.isOperator,
    organizations: user.memberships.map(({ organizationId, role }) => ({ id: organizationId, role })),
    state: userState(user),
    created_at: new Date(user.createdAtMs).toISOString(),
    last_signed_in_at: user.lastSignedInAtMs === undefined ? null : new Date(user.lastSignedInAtMs).toISOString(),
  };
}

export function userState({ disabledAtMs, invited }: UserRecord): 'active' | 'invited' | 'disabled' {
  if (disabledAtMs !== undefined) return 'disabled';
  return invited ? 'invited' : 'active';
}

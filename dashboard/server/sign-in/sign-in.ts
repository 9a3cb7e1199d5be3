import type { SessionView } from '#contract/session.ts';
import { normalizeEmail } from '#core/email-address.ts';
import { newId } from '#core/ids.ts';
import { countChange } from '#database/audit/change-counts.ts';
import { noteFailedSignIn } from '#database/sign-in/failed-sign-ins.ts';
import { createSession, deleteSession, type SessionStart } from '#database/sign-in/sessions.ts';
import { countAttempt, forgetAttempts } from '#database/sign-in/sign-in-attempts.ts';
import { findCredentials } from '#database/users/users.ts';
import { isProblem, type Problem, problem, unavailable } from '../http/problem.ts';
import type { EntryCall } from '../http/route.ts';
import { attemptOf, noteBrowser } from './known-browser.ts';
import { verifyPassword } from './password.ts';
import { findSignedIn, sessionView } from './session.ts';
import { newToken } from './session-token.ts';

export async function signIn(
  call: EntryCall,
  given: { readonly email: string; readonly password: string },
): Promise<SessionView | Problem> {
  const user = await provePassword(call, given);
  return isProblem(user) ? user : enter(call, user);
}

export interface ProvedUser {
  readonly id: string;
  readonly passwordHash: string;
}

interface PasswordlessUser {
  readonly id: string;
  readonly beganBy: SessionStart;
  readonly passwordHash?: never;
}

export async function provePassword(
  call: EntryCall,
  given: { readonly email: string; readonly password: string },
): Promise<ProvedUser | Problem> {
  const { deps, caller } = call;
  const attempt = attemptOf(call, given.email);
  const counted = await countAttempt(deps.database, attempt);
  if (!counted.allowed) return tooManyAttempts(counted.retryAfterSeconds);
  const email = normalizeEmail(given.email);
  const user = email === undefined ? undefined : await findCredentials(deps.database, email);
  // Unknown, invited and disabled users get the same response after the same time. Failures are
  // recorded after the response, because most of those for unknown addresses are only counted,
  // which is faster.
  const passwordHash = user?.disabled ? undefined : user?.passwordHash;
  const verified = await verifyPassword(given.password, passwordHash, counted.knownBrowser ? 'known' : 'stranger');
  if (verified === 'busy') return BUSY;
  if (verified && email !== undefined && user !== undefined && passwordHash !== undefined) {
    await forgetAttempts(deps.database, email, counted.knownBrowser ? undefined : attempt);
    // Each sign-in is an audit event, and none may be omitted.
    const room = await countChange(deps.database, { subject: `sign-ins ${user.userId}` }, deps.changeLimits);
    if (!room.allowed) return tooManyAttempts(room.retryAfterSeconds);
    return { id: user.userId, passwordHash };
  }
  const known = email === undefined || user === undefined ? {} : { user: { id: user.userId, email } };
  await call.afterResponse(() => noteFailedSignIn(deps.database, { ...known, address: caller.address }));
  return WRONG_PASSWORD;
}

/** Begins a session with a new token (a planted one is worthless) and ends the former one. */
export async function enter(
  { deps, caller, cookies }: EntryCall,
  user: ProvedUser | PasswordlessUser,
): Promise<SessionView | Problem> {
  const { database } = deps;
  const former = await findSignedIn(deps, cookies.session.value);
  const { token, tokenHash } = newToken();
  const { address, userAgent } = caller;
  const lengths = deps.settings().session;
  const session = {
    id: newId('ses', deps.nowMs()),
    tokenHash,
    userId: user.id,
    ...(user.passwordHash === undefined ? { beganBy: user.beganBy } : { passwordHash: user.passwordHash }),
    address,
    ...(userAgent === undefined ? {} : { userAgent }),
  };
  if (!(await createSession(database, session, lengths))) return WRONG_PASSWORD;
  if (former) await deleteSession(database, former.user, former.session.id, address);
  const signedIn = await findSignedIn(deps, token);
  // The user was disabled, or the password changed, just now.
  if (!signedIn) return WRONG_PASSWORD;
  cookies.session.set(token, Math.ceil(lengths.absoluteMs / 1000));
  if (user.passwordHash !== undefined) await noteBrowser({ deps, cookies }, user);
  return sessionView(signedIn, caller, deps);
}

export function tooManyAttempts(retryAfterSeconds: number): Problem {
  const minutes = Math.ceil(retryAfterSeconds / 60);
  const message = `Too many attempts. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`;
  return problem('too_many_attempts', message, { retryAfterSeconds });
}

/** Password hashing is expensive by design, and its queue is full. */
export const BUSY = unavailable('Too many people are signing in. Try again in a few seconds.');

/** Problem of calls that need a password while `password` is false. */
export const PASSWORDS_OFF = problem('passwords_off', 'Passwords are off here: sign in with single sign-on.');

const WRONG_PASSWORD = problem('wrong_password', 'The email address or the password is wrong.');

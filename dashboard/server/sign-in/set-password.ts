import type { SessionView } from '#contract/session.ts';
import { noteFailedSignIn } from '#database/sign-in/failed-sign-ins.ts';
import { redeemPasswordLink } from '#database/sign-in/password-links.ts';
import { notePassword } from '#database/sign-in/sessions.ts';
import { countAttempt, forgetAttempts } from '#database/sign-in/sign-in-attempts.ts';
import { findCredentials, setPasswordHash } from '#database/users/users.ts';
import { isProblem, type Problem, problem } from '../http/problem.ts';
import type { EntryCall, UserCall } from '../http/route.ts';
import { actorOf } from '../http/route.ts';
import { acceptInvitation } from './accept-invitation.ts';
import { attemptOf, noteBrowser } from './known-browser.ts';
import { findLink, LINK_GONE } from './links.ts';
import { newPasswordHash } from './new-password.ts';
import { verifyPassword } from './password.ts';
import { BUSY, enter, tooManyAttempts } from './sign-in.ts';

/** Sets a password with a link, or accepts an invitation, and signs the user in. */
export async function setPasswordByLink(
  call: EntryCall,
  given: { readonly token: string; readonly password: string },
): Promise<SessionView | Problem> {
  const { deps, caller } = call;
  const link = await findLink(deps, given.token);
  if (!link) return LINK_GONE;
  if (link.kind === 'invitation') return acceptInvitation(call, link, given.password);
  const passwordHash = await newPasswordHash(given.password, link.email, 'password');
  if (isProblem(passwordHash)) return passwordHash;
  const used = await redeemPasswordLink(deps.database, link.tokenHash, passwordHash.hash, caller.address);
  if (!used) return LINK_GONE;
  await forgetAttempts(deps.database, link.email);
  return enter(call, { id: used.userId, passwordHash: passwordHash.hash });
}

/** Changes the password, and ends every other session of the user. */
export async function changePassword(
  call: UserCall,
  given: { readonly current: string; readonly next: string },
): Promise<Problem | undefined> {
  const { deps, session } = call;
  const { email, id } = session.user;
  const current = await proveOwnPassword(call, given.current, 'current');
  if (isProblem(current)) return current;
  const chosen = await newPasswordHash(given.next, email, 'next');
  if (isProblem(chosen)) return chosen;
  const passwordHash = chosen.hash;
  const found = await setPasswordHash(deps.database, id, passwordHash, actorOf(call), {
    sessionId: session.session.id,
    formerHash: current.passwordHash,
  });
  if (!found) return wrongPassword('current');
  await notePassword(deps.database, session.session.id);
  await noteBrowser(call, { id, passwordHash });
  return undefined;
}

/** Verifies the password again for a step-up. It then counts as entered now. */
export async function confirmPassword(call: UserCall, password: string): Promise<Problem | undefined> {
  const proved = await proveOwnPassword(call, password, 'password');
  if (isProblem(proved)) return proved;
  await notePassword(call.deps.database, call.session.session.id);
  return undefined;
}

/** Counts like a sign-in: a hijacked browser must not guess. `field`: form field for messages. */
async function proveOwnPassword(
  call: UserCall,
  password: string,
  field: string,
): Promise<{ readonly passwordHash: string } | Problem> {
  const { deps, caller, session } = call;
  const { email, id } = session.user;
  const attempt = attemptOf(call, email);
  const counted = await countAttempt(deps.database, attempt);
  if (!counted.allowed) return tooManyAttempts(counted.retryAfterSeconds);
  const passwordHash = (await findCredentials(deps.database, email))?.passwordHash;
  const verified = await verifyPassword(password, passwordHash, 'known');
  if (verified === 'busy') return BUSY;
  if (!verified || passwordHash === undefined) {
    await noteFailedSignIn(deps.database, { user: { id, email }, address: caller.address });
    return wrongPassword(field);
  }
  await forgetAttempts(deps.database, email, counted.knownBrowser ? undefined : attempt);
  return { passwordHash };
}

function wrongPassword(field: string): Problem {
  const message = 'This is not your password.';
  return problem('wrong_password', message, { fields: { [field]: message } });
}

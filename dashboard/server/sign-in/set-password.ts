import type { SessionView } from '../../contract/session.ts';
import { noteFailedSignIn } from '../../store/failed-sign-ins.ts';
import { inspectPasswordLink, redeemPasswordLink } from '../../store/password-links.ts';
import { countAttempt, forgetAttempts } from '../../store/sign-in-attempts.ts';
import { findCredentials, setPasswordHash } from '../../store/users.ts';
import { type Problem, problem, wrongField } from '../http/problem.ts';
import type { UserCall } from '../route.ts';
import { actorOf } from './actor.ts';
import type { EntryCall } from './entry-call.ts';
import { attemptOf, noteBrowser } from './known-browser.ts';
import { hashPassword, verifyPassword } from './password.ts';
import { MAX_PASSWORD, MIN_PASSWORD, type PasswordProblem, passwordProblem } from './password-rules.ts';
import { hashToken } from './session-token.ts';
import { busy, enter, tooManyAttempts } from './sign-in.ts';

const MESSAGE: Readonly<Record<PasswordProblem, string>> = {
  too_short: `At least ${MIN_PASSWORD} characters.`,
  too_long: `At most ${MAX_PASSWORD} characters.`,
  is_email: 'Not the e-mail address, please.',
  too_common: 'This is one of the first that anybody would try.',
};

export async function findLink({ database }: UserCall['deps'], token: string) {
  const tokenHash = hashToken(token);
  const link = tokenHash && (await inspectPasswordLink(database, tokenHash));
  return link && { ...link, tokenHash };
}

export function linkGone(): Problem {
  return problem('link_used_or_expired', 'This link has been used or has expired. Ask for another one.');
}

/** Sets the password by a link, and signs in with it. */
export async function setPasswordByLink(
  call: EntryCall,
  given: { readonly token: string; readonly password: string },
): Promise<SessionView | Problem> {
  const { deps, caller } = call;
  const link = await findLink(deps, given.token);
  if (!link) return linkGone();
  const objection = passwordProblem(given.password, link.email);
  if (objection) return wrongField('password', MESSAGE[objection]);
  const passwordHash = await hashPassword(given.password);
  if (passwordHash === 'busy') return busy();
  const used = await redeemPasswordLink(deps.database, link.tokenHash, passwordHash, caller.address);
  if (!used) return linkGone();
  await forgetAttempts(deps.database, link.email);
  return enter(call, { id: used.userId, passwordHash });
}

/** Whoever finds a browser signed in must not be able to guess: attempts count as those to sign in. */
export async function changePassword(
  call: UserCall,
  given: { readonly current: string; readonly next: string },
): Promise<Problem | undefined> {
  const { deps, caller, session } = call;
  const { email, id } = session.user;
  const attempt = attemptOf(call, email);
  const counted = await countAttempt(deps.database, attempt);
  if (!counted.allowed) return tooManyAttempts(counted.retryAfterSeconds);
  const credentials = await findCredentials(deps.database, email);
  const verified = await verifyPassword(given.current, credentials?.passwordHash, 'known');
  if (verified === 'busy') return busy();
  const formerHash = credentials?.passwordHash;
  if (!verified || formerHash === undefined) {
    await noteFailedSignIn(deps.database, { user: { id, email }, address: caller.address });
    return wrongCurrent();
  }
  await forgetAttempts(deps.database, email, counted.knownBrowser ? undefined : attempt);
  const objection = passwordProblem(given.next, email);
  if (objection) return wrongField('next', MESSAGE[objection]);
  const passwordHash = await hashPassword(given.next);
  if (passwordHash === 'busy') return busy();
  const found = await setPasswordHash(deps.database, id, passwordHash, actorOf(call), {
    sessionId: session.session.id,
    formerHash,
  });
  if (!found) return wrongCurrent();
  await noteBrowser(call, { id, passwordHash });
  return undefined;
}

function wrongCurrent(): Problem {
  const message = 'This is not your password.';
  return problem('wrong_password', message, { fields: { current: message } });
}

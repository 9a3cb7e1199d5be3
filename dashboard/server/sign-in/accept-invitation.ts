import type { SessionView } from '#contract/session.ts';
import { acceptAsNewUser, acceptAsUser, type OpenInvitation } from '#database/members/invitation-acceptance.ts';
import { forgetAttempts } from '#database/sign-in/sign-in-attempts.ts';
import { findCredentials } from '#database/users/users.ts';
import { isProblem, type Problem, problem } from '../http/problem.ts';
import type { EntryCall, UserCall } from '../http/route.ts';
import { actorOf } from '../http/route.ts';
import { findLink, LINK_GONE } from './links.ts';
import { newPasswordHash } from './new-password.ts';
import { findSignedIn, sessionView } from './session.ts';
import { enter, provePassword } from './sign-in.ts';

/** Users accept with their account's password. For new users it becomes the account's. */
export async function acceptInvitation(
  call: EntryCall,
  { tokenHash, email, id }: OpenInvitation & { readonly tokenHash: Buffer },
  password: string,
): Promise<SessionView | Problem> {
  const { database } = call.deps;
  if (await findCredentials(database, email)) return acceptWithPassword(call, tokenHash, { email, password });
  const passwordHash = await newPasswordHash(password, email, 'password');
  if (isProblem(passwordHash)) return passwordHash;
  const { kind } = await acceptAsNewUser(database, tokenHash, passwordHash.hash, call.caller.address);
  switch (kind) {
    case 'accepted':
      await forgetAttempts(database, email);
      return enter(call, { id, passwordHash: passwordHash.hash });
    case 'gone':
      return LINK_GONE;
    // The account was created just now, concurrently.
    case 'has_account':
      return acceptWithPassword(call, tokenHash, { email, password });
    case 'operators_first':
      return problem('conflict', 'The operator has also invited this address: accept that invitation first.');
  }
}

async function acceptWithPassword(
  call: EntryCall,
  tokenHash: Buffer,
  given: { readonly email: string; readonly password: string },
): Promise<SessionView | Problem> {
  const user = await provePassword(call, given);
  if (isProblem(user)) {
    if (user.view.problem !== 'wrong_password') return user;
    const message = 'This address already has an account, and this is not its password.';
    return problem('wrong_password', message, { fields: { password: message } });
  }
  const by = { actor: given.email, userId: user.id, address: call.caller.address };
  const { kind } = await acceptAsUser(call.deps.database, tokenHash, by);
  return kind === 'accepted' ? enter(call, user) : LINK_GONE;
}

export async function acceptSignedIn(call: UserCall, token: string): Promise<SessionView | Problem> {
  const link = await findLink(call.deps, token);
  if (link?.kind !== 'invitation') return LINK_GONE;
  const { user } = call.session;
  const { kind } = await acceptAsUser(call.deps.database, link.tokenHash, { ...actorOf(call), userId: user.id });
  if (kind === 'gone') return LINK_GONE;
  if (kind === 'for_somebody_else') {
    return problem('conflict', `This invitation is for ${link.email}, and you are signed in as ${user.email}.`);
  }
  const now = await findSignedIn(call.deps, call.cookies.session.value);
  return now ? sessionView(now, call.caller, call.deps) : LINK_GONE;
}

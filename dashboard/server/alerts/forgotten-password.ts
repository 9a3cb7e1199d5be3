import type { Empty } from '#contract/fields.ts';
import { normalizeEmail } from '#core/email-address.ts';
import { type ChangeLimits, countChange } from '#database/audit/change-counts.ts';
import { accountSubject, originSubjects } from '#database/sign-in/attempt-subjects.ts';
import { mailForgottenPassword } from '#database/sign-in/password-links.ts';
import { findCredentials } from '#database/users/users.ts';
import { type Problem, problem } from '../http/problem.ts';
import type { EntryCall } from '../http/route.ts';
import type { Settings } from '../http/settings.ts';
import { tooManyAttempts } from '../sign-in/sign-in.ts';
import { passwordMail } from './link-mail.ts';

const BY_ADDRESS: ChangeLimits = { perMinute: 5, perDay: 50 };
const BY_NETWORK: ChangeLimits = { perMinute: 50, perDay: 500 };
const BY_ACCOUNT: ChangeLimits = { perMinute: 2, perDay: 10 };
/** Per account and network, so that nobody uses up what its owner may request elsewhere. */
const BY_PAIR: ChangeLimits = { perMinute: 2, perDay: 4 };

/** Mails requested by strangers use the configured URL, because a request may name any host. */
export function resetsByMail({ mail, url, signIn }: Settings): boolean {
  return signIn.password && mail !== undefined && url !== undefined;
}

/**
 * Mails a link that sets a new password. Response and response time are the same whether or not the
 * address has an account, and even if the account has received the day's maximum of mails.
 */
export async function askForReset(call: EntryCall, typed: string): Promise<Empty | Problem> {
  const { deps, caller } = call;
  if (!resetsByMail(deps.settings()))
    return problem('conflict', 'No mail is sent here. Ask your operator for a link to set a new password.');
  const { near, wide } = originSubjects(caller);
  for (const [subject, limits] of [
    [near, BY_ADDRESS] as const,
    ...(wide ? [[wide.subject, BY_NETWORK] as const] : []),
  ]) {
    const counted = await countChange(deps.database, { subject: `resets ${subject}` }, limits);
    if (!counted.allowed) return tooManyAttempts(counted.retryAfterSeconds);
  }
  const account = `resets ${accountSubject(typed)}`;
  const here = await countChange(deps.database, { subject: `${account} ${wide?.subject ?? near}` }, BY_PAIR);
  const allowed = here.allowed && (await countChange(deps.database, { subject: account }, BY_ACCOUNT)).allowed;
  const email = normalizeEmail(typed);
  await call.afterResponse(async () => {
    const user = allowed && email !== undefined ? await findCredentials(deps.database, email) : undefined;
    // Invited people and users of single sign-on have no password that they could forget.
    if (email === undefined || user?.passwordHash === undefined || user.disabled) return;
    const { userId } = user;
    const mail = passwordMail({ userId, purpose: 'forgotten', email, origin: caller.origin });
    await mailForgottenPassword(deps.database, { id: userId, email }, mail, caller.address);
  });
  return {};
}

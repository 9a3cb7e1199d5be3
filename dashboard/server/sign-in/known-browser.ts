import { present } from '#core/present.ts';
import { KNOWN_BROWSER_DAYS, rememberBrowser } from '#database/sign-in/known-browsers.ts';
import type { SignInAttempt } from '#database/sign-in/sign-in-attempts.ts';
import type { EntryCall } from '../http/route.ts';
import { hashToken, newToken } from './session-token.ts';

/**
 * OWASP's device cookie. A browser that has signed in before keeps a token of the account, so that
 * other people's wrong passwords do not lock it out. The token alone grants no access. Each sign-in
 * renews it. A new password, or disabling the user, deletes all tokens.
 */
const MAX_AGE_SECONDS = KNOWN_BROWSER_DAYS * 86_400;

export function attemptOf({ caller, cookies }: Pick<EntryCall, 'caller' | 'cookies'>, email: string): SignInAttempt {
  const { address, claimedAddress } = caller;
  return { email, address, ...present({ claimedAddress, browserHash: browserHashOf(cookies) }) };
}

/** `passwordHash` is the hash that the user has just proved or set. */
export async function noteBrowser(
  { deps, cookies }: Pick<EntryCall, 'deps' | 'cookies'>,
  user: { readonly id: string; readonly passwordHash: string },
): Promise<void> {
  const { token, tokenHash } = newToken();
  await rememberBrowser(deps.database, {
    userId: user.id,
    tokenHash,
    passwordHash: user.passwordHash,
    ...present({ formerTokenHash: browserHashOf(cookies) }),
  });
  cookies.browser.set(token, MAX_AGE_SECONDS);
}

function browserHashOf({ browser: { value } }: EntryCall['cookies']): Buffer | undefined {
  return value === undefined ? undefined : hashToken(value);
}

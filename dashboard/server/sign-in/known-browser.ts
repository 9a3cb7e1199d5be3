import { present } from '#core/present.ts';
import { KNOWN_BROWSER_DAYS, rememberBrowser } from '#database/sign-in/known-browsers.ts';
import type { SignInAttempt } from '#database/sign-in/sign-in-attempts.ts';
import type { EntryCall } from '../http/route.ts';
import { hashToken, newToken } from './session-token.ts';

/**
 * OWASP's device cookie. A browser with an earlier sign-in keeps a token of the account, so that
 * wrong passwords of others do not lock it out. The token alone grants no access. Each sign-in
 * renews it; a new password, or disabling the user, deletes all of them.
 */
const MAX_AGE_SECONDS = KNOWN_BROWSER_DAYS * 86_400;

/** The sign-in attempt of a call, for the typed address. */
export function attemptOf({ caller, cookies }: Pick<EntryCall, 'caller' | 'cookies'>, email: string): SignInAttempt {
  const { address, claimedAddress } = caller;
  const browserHash = cookies.browserToken === undefined ? undefined : hashToken(cookies.browserToken);
  return {
    email,
    address,
    ...present({ claimedAddress, browserHash }),
  };
}

/** `passwordHash` is the hash that the user has just proved or set. */
export async function noteBrowser(
  { deps, cookies }: Pick<EntryCall, 'deps' | 'cookies'>,
  user: { readonly id: string; readonly passwordHash: string },
): Promise<void> {
  const { token, tokenHash } = newToken();
  const formerTokenHash = cookies.browserToken === undefined ? undefined : hashToken(cookies.browserToken);
  await rememberBrowser(deps.database, {
    userId: user.id,
    tokenHash,
    passwordHash: user.passwordHash,
    ...(formerTokenHash === undefined ? {} : { formerTokenHash }),
  });
  cookies.setBrowserToken(token, MAX_AGE_SECONDS);
}

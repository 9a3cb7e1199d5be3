import { KNOWN_BROWSER_DAYS, rememberBrowser } from '../../../database/sign-in/known-browsers.ts';
import type { SignInAttempt } from '../../../database/sign-in/sign-in-attempts.ts';
import type { EntryCall } from '../http/route.ts';
import { hashToken, newToken } from './session-token.ts';

/**
 * OWASP's device cookie: a browser in which somebody signed in keeps a token of the account, with which others' wrong passwords do not hold it up.
 * The token lets nobody in. Every sign-in makes a new one; a new password, or disabling the user, forgets them all.
 */
const MAX_AGE_SECONDS = KNOWN_BROWSER_DAYS * 86_400;

/** The attempt to sign in that a call is, for the address that was typed. */
export function attemptOf({ caller, cookies }: Pick<EntryCall, 'caller' | 'cookies'>, email: string): SignInAttempt {
  const { address, claimedAddress } = caller;
  const browserHash = cookies.browserToken === undefined ? undefined : hashToken(cookies.browserToken);
  return {
    email,
    address,
    ...(claimedAddress === undefined ? {} : { claimedAddress }),
    ...(browserHash === undefined ? {} : { browserHash }),
  };
}

/** `passwordHash` is in force since the user proved to know the password, or set it. */
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

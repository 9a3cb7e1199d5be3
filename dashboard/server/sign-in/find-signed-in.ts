import { findSession, type SignedIn } from '../../../database/sign-in/sessions.ts';
import type { Deps } from '../route.ts';
import { hashToken } from './session-token.ts';

/** Who the token of the cookie belongs to, if its session lives and its user is not disabled. */
export async function findSignedIn(
  { database, settings }: Deps,
  token: string | undefined,
): Promise<SignedIn | undefined> {
  const tokenHash = token === undefined ? undefined : hashToken(token);
  return tokenHash && findSession(database, tokenHash, settings().session);
}

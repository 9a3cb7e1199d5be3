import { hash } from 'node:crypto';
import { findSession, type SignedIn } from '../store/sessions.ts';
import type { Deps } from './route.ts';

/** Who the token of the cookie belongs to, if its session lives and its user is not disabled. */
export async function findSignedIn({ database }: Deps, token: string | undefined): Promise<SignedIn | undefined> {
  if (token === undefined) return undefined;
  return findSession(database, hash('sha256', token, 'buffer'));
}

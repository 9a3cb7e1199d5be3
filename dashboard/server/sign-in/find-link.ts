import { inspectInvitation, type OpenInvitation } from '../../../database/members/invitation-acceptance.ts';
import { inspectPasswordLink, type PasswordLink } from '../../../database/sign-in/password-links.ts';
import { type Problem, problem } from '../http/problem.ts';
import type { Deps } from '../route.ts';
import { hashToken } from './session-token.ts';

/** A link as it is in force: to set a user's password, or to join an organization. */
export type FoundLink =
  | (PasswordLink & { readonly kind: 'password'; readonly tokenHash: Buffer })
  | (OpenInvitation & { readonly kind: 'invitation'; readonly tokenHash: Buffer });

export async function findLink({ database }: Deps, token: string): Promise<FoundLink | undefined> {
  const tokenHash = hashToken(token);
  if (tokenHash === undefined) return undefined;
  const link = await inspectPasswordLink(database, tokenHash);
  if (link) return { ...link, kind: 'password', tokenHash };
  const invitation = await inspectInvitation(database, tokenHash);
  return invitation && { ...invitation, kind: 'invitation', tokenHash };
}

export function linkGone(): Problem {
  return problem('link_used_or_expired', 'This link has been used or has expired. Ask for another one.');
}

import type { LinkView } from '#contract/people.ts';
import { inspectInvitation, type OpenInvitation } from '#database/members/invitation-acceptance.ts';
import {
  createPasswordLink,
  inspectPasswordLink,
  type LinkPurpose,
  type PasswordLink,
} from '#database/sign-in/password-links.ts';
import type { Caller } from '../http/caller.ts';
import { notFound, type Problem, problem } from '../http/problem.ts';
import { actorOf, type Deps, type UserCall } from '../http/route.ts';
import { hashToken, newToken } from './session-token.ts';

export interface LinkWanted {
  readonly userId: string;
  readonly purpose: LinkPurpose;
}

/** The token is in the fragment, which browsers never send, so that no server log contains it. */
export function linkWith(token: string, expiresAtMs: number, { origin }: Pick<Caller, 'origin'>): Required<LinkView> {
  return { url: `${origin}/link#${token}`, expiresAtMs };
}

export async function makePasswordLink(call: UserCall, wanted: LinkWanted): Promise<Required<LinkView> | Problem> {
  const { token, tokenHash } = newToken();
  const result = await createPasswordLink(call.deps.database, { ...wanted, tokenHash }, actorOf(call));
  return result.kind === 'created' ? linkWith(token, result.expiresAtMs, call.caller) : NOT_MADE[result.kind];
}

const NOT_MADE = {
  unknown_user: notFound('user'),
  disabled: problem('conflict', 'This user is disabled.'),
  has_password: problem('conflict', 'This user has already set a password. Operators can reset it.'),
};

/** A valid link, which sets a user's password or joins an organization. */
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

export const LINK_GONE = problem(
  'link_used_or_expired',
  'This link has been used or has expired. Ask for another one.',
);

import { createPasswordLink, type LinkPurpose } from '../../../database/sign-in/password-links.ts';
import type { LinkView } from '../../contract/people.ts';
import { notFound, type Problem, problem } from '../http/problem.ts';
import type { UserCall } from '../route.ts';
import { actorOf } from './actor.ts';
import { newToken } from './session-token.ts';

/** The user of a link, and its purpose. */
export interface LinkWanted {
  readonly userId: string;
  readonly purpose: LinkPurpose;
}

/** The token stands behind the `#`: browsers send that to no server, so that it is in nobody's log. */
export function linkWith(token: string, expiresAtMs: number, { caller }: Pick<UserCall, 'caller'>): LinkView {
  return { url: `${caller.origin}/link#${token}`, expiresAtMs };
}

export async function makePasswordLink(call: UserCall, wanted: LinkWanted): Promise<LinkView | Problem> {
  const { token, tokenHash } = newToken();
  const result = await createPasswordLink(call.deps.database, { ...wanted, tokenHash }, actorOf(call));
  switch (result.kind) {
    case 'created':
      return linkWith(token, result.expiresAtMs, call);
    case 'unknown_user':
      return notFound('user');
    case 'disabled':
      return problem('conflict', 'This user is disabled.');
    case 'has_password':
      return problem('conflict', 'This user has set a password already. Operators can reset it.');
  }
}

import type { Actor } from '../../../database/audit/audit.ts';
import type { UserCall } from '../route.ts';

/** Who asks, as the audit log tells of it. */
export function actorOf({ session, caller }: Pick<UserCall, 'session' | 'caller'>): Actor {
  return { actor: session.user.email, userId: session.user.id, address: caller.address };
}

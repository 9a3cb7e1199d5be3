import { type Changer, countChange } from '#database/audit/change-counts.ts';
import type { Granted } from './authorize.ts';
import { type Problem, problem } from './http/problem.ts';
import type { Deps, Route } from './http/route.ts';

/**
 * Limits changes, because each writes an audit event, which stays for ever. Changes that end access
 * count against a limit of the user alone. Operators do not use up the limit of the organization.
 */
export async function limitChanges(
  { entry, changeLimits }: Pick<Deps, 'entry' | 'changeLimits'>,
  { method, access, endsAccess }: Pick<Route, 'method' | 'access' | 'endsAccess'>,
  { session, organizationId, role }: Granted,
): Promise<Problem | undefined> {
  if (method === 'GET' || access === 'anyone' || session === undefined) return undefined;
  const { id } = session.user;
  const changer: Changer = endsAccess
    ? { subject: `ending access ${id}` }
    : { subject: id, ...(role === 'operator' || organizationId === undefined ? {} : { organization: organizationId }) };
  const counted = await countChange(entry, changer, changeLimits);
  if (counted.allowed) return undefined;
  const { by, retryAfterSeconds } = counted;
  const whose = by === 'organization' ? 'Your organization has' : 'You have';
  const message = `${whose} changed too much in too short a time. Try again in ${waitText(retryAfterSeconds)}.`;
  return problem('too_many_requests', message, { retryAfterSeconds });
}

/** `40 seconds`, `3 hours` */
function waitText(seconds: number): string {
  if (seconds < 90) return seconds === 1 ? 'a second' : `${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}

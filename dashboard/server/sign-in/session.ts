import { findSession, type SignedIn } from '../../../database/sign-in/sessions.ts';
import type { Role, SessionView } from '../../contract/session.ts';
import { type Caller, isTrustedProxy } from '../http/caller.ts';
import type { Deps } from '../http/route.ts';
import type { Settings } from '../http/settings.ts';
import { hashToken } from './session-token.ts';

export function sessionView(
  signedIn: SignedIn,
  caller: Caller,
  { settings: current, untrustedProxies }: Pick<Deps, 'settings' | 'untrustedProxies'>,
): SessionView {
  const { user, memberships, invitations, passwordHandedOut } = signedIn;
  const settings = current();
  const proxy = user.isOperator ? untrustedProxies.newest() : undefined;
  // The configuration may have been changed meanwhile.
  const isNamed = proxy === undefined || isTrustedProxy(proxy.address, settings);
  return {
    user,
    organizations: memberships.map(({ organizationId, name, role, suspended }) => ({
      id: organizationId,
      name,
      role: roleIn(signedIn, organizationId) ?? role,
      suspended,
    })),
    apiUrl: apiUrl(caller, settings),
    ...(settings.topUpUrl === undefined ? {} : { topUpUrl: settings.topUpUrl }),
    ...(passwordHandedOut ? { choosePassword: true } : {}),
    ...(invitations.length === 0 ? {} : { invitations }),
    ...(isNamed ? {} : { untrustedProxy: proxy.address }),
  };
}

/** The configured URL. Otherwise the host of the dashboard with Envoy's port. */
function apiUrl({ origin }: Caller, { apiUrl: configured, api, apiSpeaksTls }: Settings): string {
  if (configured !== undefined) return configured;
  const { hostname = 'localhost' } = URL.parse(origin) ?? {};
  return new URL(`${apiSpeaksTls ? 'https' : 'http'}://${hostname}:${api.port}/v1`).href;
}

/** The user of a session token. Undefined if the session has ended or the user is disabled. */
export async function findSignedIn(
  { database, settings }: Deps,
  token: string | undefined,
): Promise<SignedIn | undefined> {
  const tokenHash = token === undefined ? undefined : hashToken(token);
  return tokenHash && findSession(database, tokenHash, settings().session);
}

/** `undefined` for a user outside the organization. */
export function roleIn(
  { user, memberships }: Pick<SignedIn, 'user' | 'memberships'>,
  organizationId: string,
): Role | undefined {
  if (user.isOperator) return 'operator';
  return memberships.find((membership) => membership.organizationId === organizationId)?.role;
}

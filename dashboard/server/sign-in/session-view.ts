import type { SignedIn } from '../../../database/sign-in/sessions.ts';
import type { SessionView } from '../../contract/session.ts';
import { type Caller, isTrustedProxy } from '../http/request-facts.ts';
import type { Deps } from '../route.ts';
import type { Settings } from '../settings.ts';
import { roleIn } from './role-in.ts';

export function sessionView(
  signedIn: SignedIn,
  caller: Caller,
  { settings: current, untrustedProxies }: Pick<Deps, 'settings' | 'untrustedProxies'>,
): SessionView {
  const { user, memberships, invitations, passwordHandedOut } = signedIn;
  const settings = current();
  const proxy = user.isOperator ? untrustedProxies.newest() : undefined;
  // The configuration may name it by now.
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

/** Unless configured: the host that the browser uses for the dashboard, and Envoy's own port. */
function apiUrl({ origin }: Caller, { apiUrl: configured, api, apiSpeaksTls }: Settings): string {
  if (configured !== undefined) return configured;
  const { hostname = 'localhost' } = URL.parse(origin) ?? {};
  return new URL(`${apiSpeaksTls ? 'https' : 'http'}://${hostname}:${api.port}/v1`).href;
}

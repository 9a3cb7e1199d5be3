import type { PlaygroundView } from '#contract/playground.ts';
import type { Role, SessionView } from '#contract/session.ts';
import { present } from '#core/present.ts';
import { findSession, type SignedIn } from '#database/sign-in/sessions.ts';
import { type Caller, isTrustedProxy } from '../http/caller.ts';
import type { Deps } from '../http/route.ts';
import type { Settings } from '../http/settings.ts';
import { KEY_BUDGET_NANO_USD, KEY_LIFETIME_MS } from '../playground/playground-keys.ts';
import { hashToken } from './session-token.ts';

export function sessionView(
  signedIn: SignedIn,
  caller: Caller,
  { settings: current, untrustedProxies }: Pick<Deps, 'settings' | 'untrustedProxies'>,
): SessionView {
  const { user, memberships, invitations, passwordHandedOut, beganBy } = signedIn;
  const settings = current();
  const proxy = user.isOperator ? untrustedProxies.newest() : undefined;
  // The configuration may have changed meanwhile.
  const isNamed = proxy === undefined || isTrustedProxy(proxy, settings);
  return {
    user,
    organizations: memberships.map(({ organizationId, name, role, suspended }) => ({
      id: organizationId,
      name,
      role: roleIn(signedIn, organizationId) ?? role,
      suspended,
    })),
    apiUrl: apiUrl(caller, settings),
    apis: settings.apis,
    signedInBy: beganBy,
    ...present({ topUpUrl: settings.topUpUrl }),
    ...(settings.playgroundUrl === undefined ? {} : { playground: PLAYGROUND }),
    ...(settings.stripe === undefined ? {} : { takesPayments: true }),
    ...(passwordHandedOut && beganBy === 'password' ? { choosePassword: true } : {}),
    ...(invitations.length === 0 ? {} : { invitations }),
    ...(isNamed ? {} : { untrustedProxy: proxy }),
  };
}

const PLAYGROUND: PlaygroundView = {
  budgetNanoUsd: KEY_BUDGET_NANO_USD.toString(),
  keyMinutes: KEY_LIFETIME_MS / 60_000,
};

/** The configured URL. Otherwise the dashboard's host with Envoy's port. */
function apiUrl({ origin }: Caller, { apiUrl: configured, api, apiSpeaksTls }: Settings): string {
  if (configured !== undefined) return configured;
  const { hostname = 'localhost' } = URL.parse(origin) ?? {};
  return new URL(`${apiSpeaksTls ? 'https' : 'http'}://${hostname}:${api.port}/v1`).href;
}

/**
 * The user of a session token. Undefined if the session has ended, the user is disabled, or the way
 * of signing in is no longer configured.
 */
export async function findSignedIn(
  { database, settings }: Deps,
  token: string | undefined,
): Promise<SignedIn | undefined> {
  const tokenHash = token === undefined ? undefined : hashToken(token);
  const found = tokenHash && (await findSession(database, tokenHash, settings().session));
  return found && mayContinue(found, settings().signIn) ? found : undefined;
}

/** A session ends when its way of signing in is turned off. */
function mayContinue({ beganBy, issuer }: SignedIn, { password, oidc }: Settings['signIn']): boolean {
  if (beganBy === 'password') return password;
  return beganBy === 'link' || issuer === oidc?.issuer;
}

/** `undefined` for a user outside of the organization. */
export function roleIn(
  { user, memberships }: Pick<SignedIn, 'user' | 'memberships'>,
  organizationId: string,
): Role | undefined {
  if (user.isOperator) return 'operator';
  return memberships.find((membership) => membership.organizationId === organizationId)?.role;
}

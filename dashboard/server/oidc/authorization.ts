import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  ClientError,
  type Configuration,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  type IDToken,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { OidcConfig } from '#core/config/dashboard-config.ts';
import { isEndpoint } from './bounded-fetch.ts';

/** Secrets of one sign-in, which only the browser that began it has. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** True if the issuer was asked to authenticate the user again. */
  readonly again: boolean;
}

const FLOW = /^([\w-]{43})\.([\w-]{43})\.([\w-]{43})\.([01])$/;

export function writeFlow({ state, nonce, verifier, again }: Flow): string {
  return [state, nonce, verifier, again ? '1' : '0'].join('.');
}

export function readFlow(text: string | undefined): Flow | undefined {
  const [, state, nonce, verifier, again] = FLOW.exec(text ?? '') ?? [];
  if (state === undefined || nonce === undefined || verifier === undefined) return undefined;
  return { state, nonce, verifier, again: again === '1' };
}

export function newFlow(again: boolean): Flow {
  return { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier(), again };
}

/** Page to which the issuer redirects the browser. */
export function redirectUri(origin: string): string {
  return `${origin}/sign-in/callback`;
}

/** `undefined`: the issuer's metadata contains no endpoint to which a browser may be sent. */
export async function authorizationUrl(
  issuer: Configuration,
  { issuer: name, scopes }: OidcConfig,
  { state, nonce, verifier, again }: Flow,
  origin: string,
): Promise<string | undefined> {
  const { authorization_endpoint: endpoint } = issuer.serverMetadata();
  if (!isEndpoint(new URL(name), URL.parse(endpoint ?? ''))) return undefined;
  const url = buildAuthorizationUrl(issuer, {
    redirect_uri: redirectUri(origin),
    scope: scopes.join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(again ? { prompt: 'login', max_age: '0' } : {}),
  });
  return url.href;
}

/** Claims of a user, with the ID token from which they are. */
export interface VerifiedUser {
  readonly idToken: string;
  readonly claims: IDToken;
  /** When the user authenticated at the issuer, in seconds since 1970. 0: unknown. */
  readonly provedAt: number;
}

const ADDRESS = ['email', 'email_verified'];

const MAX_CLOCK_SKEW_SECONDS = 60;

/**
 * Redeems the code of an authorization response. Verifies the ID token's signature, issuer,
 * audience, authorized party, lifetime and nonce. Throws if the response is invalid.
 */
export async function verifyResponse(
  issuer: Configuration,
  { operatorClaim, clientId }: OidcConfig,
  { state, nonce, verifier, again }: Flow,
  url: URL,
): Promise<VerifiedUser> {
  const tokens = await authorizationCodeGrant(issuer, url, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined || tokens.id_token === undefined) throw new Error('an expected ID token is not there');
  // The library checks neither for a token with a single audience.
  if (claims.azp !== undefined && claims.azp !== clientId) throw new ClientError('the ID token is for another client');
  if (claims.iat > Date.now() / 1000 + MAX_CLOCK_SKEW_SECONDS) throw new ClientError('the ID token is from the future');
  const verified = { idToken: tokens.id_token, provedAt: provedAtOf(issuer, claims, again) };
  const isAbsent = (name: string) => (claims[name] ?? null) === null;
  // Both come from one source, because `email_verified` refers to the address next to it.
  const ofAddress = ADDRESS.some(isAbsent) ? ADDRESS : [];
  const absent = [...ofAddress, ...(operatorClaim === undefined ? [] : [operatorClaim.name].filter(isAbsent))];
  if (absent.length === 0 || issuer.serverMetadata().userinfo_endpoint === undefined) return { ...verified, claims };
  const more = await fetchUserInfo(issuer, tokens.access_token, claims.sub);
  const added = Object.fromEntries(absent.map((name) => [name, more[name]]));
  return { ...verified, claims: { ...claims, ...added } };
}

/**
 * A browser can remove `prompt` and `max_age` from the URL, so that the issuer does not
 * authenticate again. An issuer that supports `auth_time` must send it if `max_age` was requested
 * (OpenID Connect Core, 2). For others, such as Google, the time of the token counts.
 */
function provedAtOf(issuer: Configuration, claims: IDToken, again: boolean): number {
  if (claims.auth_time !== undefined) return claims.auth_time;
  const { claims_supported: known } = issuer.serverMetadata();
  const sendsIt = Array.isArray(known) && known.includes('auth_time');
  return again && !sendsIt ? claims.iat : 0;
}

/** Longest ID token that is put into a URL. */
const MAX_HINT_CHARACTERS = 6_000;

/** URL for signing out at the issuer. `undefined`: it has none. */
export function endSessionUrl(
  issuer: Configuration,
  { issuer: name }: OidcConfig,
  idToken: string | undefined,
  origin: string,
): string | undefined {
  const { end_session_endpoint: endpoint } = issuer.serverMetadata();
  if (!isEndpoint(new URL(name), URL.parse(endpoint ?? ''))) return undefined;
  const hint = idToken !== undefined && idToken.length <= MAX_HINT_CHARACTERS ? { id_token_hint: idToken } : {};
  return buildEndSessionUrl(issuer, { post_logout_redirect_uri: `${origin}/sign-in`, ...hint }).href;
}

import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import type { SessionView } from '#contract/session.ts';
import type { OidcConfig } from '#core/config/dashboard-config.ts';
import { normalizeEmail } from '#core/email-address.ts';
import { newId } from '#core/ids.ts';
import { countChange } from '#database/audit/change-counts.ts';
import { type IdentityResult, signInByIdentity } from '#database/sign-in/identities.ts';
import type { EndedSession, SessionStart } from '#database/sign-in/sessions.ts';
import { countAttempt, forgetAttempts } from '#database/sign-in/sign-in-attempts.ts';
import { notFound, type Problem, problem } from '../http/problem.ts';
import type { EntryCall } from '../http/route.ts';
import {
  authorizationUrl,
  endSessionUrl,
  type Flow,
  newFlow,
  readFlow,
  redirectUri,
  type VerifiedUser,
  verifyResponse,
  writeFlow,
} from '../oidc/authorization.ts';
import { UnusableIssuer } from '../oidc/bounded-fetch.ts';
import { explainFailure } from '../oidc/explain-failure.ts';
import { attemptOf } from './known-browser.ts';
import { findSignedIn } from './session.ts';
import { hashToken } from './session-token.ts';
import { BUSY, enter, tooManyAttempts } from './sign-in.ts';

const FLOW_SECONDS = 600;
const MAX_ID_TOKEN_CHARACTERS = 16_384;
/** As defined by OpenID Connect. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/;
/** Errors with which the user or the issuer ends the sign-in. */
const REFUSALS = ['access_denied', 'login_required', 'consent_required', 'interaction_required'];
/** Failures of the connection, responses that violate the protocol, and a key changed just now. */
const UNAVAILABLE = [
  ...['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'],
  'OAUTH_KEY_SELECTION_FAILED',
];

const IDENTITY_REFUSED = problem(
  'identity_refused',
  'The identity provider sent a sign-in that is not valid. Ask the operator: the log has the reason.',
);

const ISSUER_UNAVAILABLE = problem(
  'issuer_unavailable',
  'The identity provider does not respond as it should. Try again in a minute, or ask the operator.',
  { retryAfterSeconds: 5 },
);

const ISSUER_REFUSED = problem('issuer_refused', 'The sign-in was cancelled, or the identity provider refused it.');

const SIGN_IN_EXPIRED = problem('sign_in_expired', 'This sign-in has expired, or was used before. Sign in again.');

const EMAIL_UNVERIFIED = problem(
  'email_unverified',
  'The identity provider has not verified your email address. Verify it there and sign in again, or ask the operator.',
);

/** Begins a sign-in at the issuer. The browser gets its secrets and is redirected there. */
export async function beginAtIssuer(call: EntryCall, again: boolean): Promise<{ readonly url: string } | Problem> {
  const { deps, cookies, caller } = call;
  const { oidc } = deps.settings().signIn;
  if (oidc === undefined) return notFound('identity provider');
  const issuer = await deps.issuers.find(oidc);
  const flow = newFlow(again);
  const url = issuer && (await authorizationUrl(issuer, oidc, flow, caller.origin));
  if (url === undefined) return ISSUER_UNAVAILABLE;
  cookies.flow.set(writeFlow(flow), FLOW_SECONDS);
  return { url };
}

/** `query` is the query of the page to which the issuer redirected the browser. */
export async function finishAtIssuer(call: EntryCall, query: string): Promise<SessionView | Problem> {
  const { deps, cookies, caller } = call;
  const { oidc } = deps.settings().signIn;
  if (oidc === undefined) return notFound('identity provider');
  const flow = readFlow(cookies.flow.value);
  const url = URL.parse(`${redirectUri(caller.origin)}?${query.replace(/^\?/, '')}`);
  // A response that this browser did not request could sign its user in as somebody else.
  if (flow === undefined || url === null || url.searchParams.get('state') !== flow.state) return SIGN_IN_EXPIRED;
  cookies.flow.clear();
  // Each attempt has its own subject, so only the limits of its address and network apply.
  const attempt = { ...attemptOf(call, flow.state), atIssuer: true } as const;
  const counted = await countAttempt(deps.database, attempt);
  if (!counted.allowed) return tooManyAttempts(counted.retryAfterSeconds);
  const issuer = await deps.issuers.find(oidc);
  if (issuer === undefined) return ISSUER_UNAVAILABLE;
  let user: VerifiedUser | 'busy';
  try {
    user = await deps.issuers.ask(() => verifyResponse(issuer, oidc, flow, url));
  } catch (error) {
    return failed(call, oidc, explainFailure(error), problemOfFailure(error));
  }
  if (user === 'busy') return BUSY;
  await forgetAttempts(deps.database, attempt.email, attempt);
  return enterAs(call, oidc, user, flow);
}

/** Writes the reason into the process log, because the page does not show it. */
function failed({ deps }: EntryCall, { issuer }: OidcConfig, reason: string, shown: Problem): Problem {
  deps.issuers.log.warn({ issuer, reason }, 'a sign-in at the issuer failed');
  return shown;
}

/**
 * `oidc` is the issuer that verified the user. The configuration may have changed since: a user of
 * a replaced issuer is refused, and the current operator claim decides who is an operator.
 */
async function enterAs(
  call: EntryCall,
  oidc: OidcConfig,
  user: VerifiedUser,
  flow: Flow,
): Promise<SessionView | Problem> {
  const { deps, caller, cookies } = call;
  const { signIn } = deps.settings();
  const stateHash = hashToken(flow.state);
  if (signIn.oidc?.issuer !== oidc.issuer || stateHash === undefined) return SIGN_IN_EXPIRED;
  const { claims, idToken, provedAt } = user;
  if (!SUBJECT.test(claims.sub))
    return failed(call, oidc, 'sub is not printable ASCII of up to 255 characters', IDENTITY_REFUSED);
  const email = typeof claims.email === 'string' ? normalizeEmail(claims.email) : undefined;
  // Amazon Cognito sends it as text.
  if (email === undefined || ![true, 'true'].includes(claims.email_verified as boolean))
    return failed(call, oidc, 'email is missing or not ASCII, or email_verified is not true', EMAIL_UNVERIFIED);
  const { issuer, operatorClaim } = signIn.oidc;
  const session = await findSignedIn(deps, cookies.session.value);
  const isFresh = session !== undefined && session.passwordAgeMs <= deps.settings().session.freshPasswordMs;
  const result = await signInByIdentity(deps.database, {
    ...{ issuer, subject: claims.sub, email, stateHash },
    hasOperatorClaim: operatorClaim !== undefined && hasValue(claims[operatorClaim.name], operatorClaim.value),
    passwordsSignIn: signIn.password,
    ...(session !== undefined && isFresh ? { provedUserId: session.user.id } : {}),
    newUserId: newId('usr', deps.nowMs()),
    address: caller.address,
  });
  if (result.kind !== 'user') return refusalOf(result, email);
  const room = await countChange(deps.database, { subject: `sign-ins ${result.id}` }, deps.changeLimits);
  if (!room.allowed) return tooManyAttempts(room.retryAfterSeconds);
  const kept = idToken.length <= MAX_ID_TOKEN_CHARACTERS ? { idToken } : {};
  const provedAtMs = Math.min(provedAt * 1000, deps.nowMs());
  const beganBy: SessionStart = { by: 'issuer', issuer, provedAtMs, ...kept };
  return enter(call, { id: result.id, beganBy });
}

function hasValue(claim: unknown, value: string): boolean {
  return claim === value || (Array.isArray(claim) && claim.includes(value));
}

/** What the sign-in page shows for a failed sign-in. It never contains the issuer's words. */
function problemOfFailure(error: unknown): Problem {
  if (error instanceof AuthorizationResponseError) {
    return REFUSALS.includes(error.error) ? ISSUER_REFUSED : ISSUER_UNAVAILABLE;
  }
  if (error instanceof ResponseBodyError) return error.error === 'invalid_grant' ? SIGN_IN_EXPIRED : ISSUER_UNAVAILABLE;
  if (!(error instanceof ClientError) || UNAVAILABLE.includes(error.code ?? '')) return ISSUER_UNAVAILABLE;
  // The library wraps errors of its fetch.
  return error.cause instanceof UnusableIssuer ? ISSUER_UNAVAILABLE : IDENTITY_REFUSED;
}

function refusalOf({ kind }: Exclude<IdentityResult, { kind: 'user' }>, email: string): Problem {
  switch (kind) {
    case 'replayed':
      return SIGN_IN_EXPIRED;
    case 'no_account':
      return problem('no_account', `There is no account for ${email}. Ask an owner of your organization to invite it.`);
    case 'has_password':
      return problem(
        'account_has_password',
        `The account of ${email} has a password. Sign in with it, then connect single sign-on on the page Account.`,
      );
    case 'other_identity':
      return problem(
        'other_identity',
        `The account of ${email} belongs to another user of the identity provider. The operator can unbind it.`,
      );
  }
}

/** URL for signing out at the issuer at which the ended session began. */
export async function signOutUrl(
  { deps, caller }: EntryCall,
  { issuer: name, idToken }: EndedSession,
): Promise<string | undefined> {
  const { oidc } = deps.settings().signIn;
  if (oidc === undefined || name !== oidc.issuer) return undefined;
  const issuer = await deps.issuers.find(oidc);
  return issuer && endSessionUrl(issuer, oidc, idToken, caller.origin);
}

import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { type Problem, problem } from '../http/problem.ts';
import { UnusableIssuer } from '../oidc/bounded-fetch.ts';

/** Errors with which the user or the issuer ends the sign-in. */
const REFUSALS = ['access_denied', 'login_required', 'consent_required', 'interaction_required'];
/** Failures of the connection, and responses that violate the protocol. */
const UNAVAILABLE = ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'];

/** What the sign-in page shows for a failed sign-in. It never contains the issuer's words. */
export function problemOfFailure(error: unknown): Problem {
  if (error instanceof AuthorizationResponseError) {
    return REFUSALS.includes(error.error) ? ISSUER_REFUSED : ISSUER_UNAVAILABLE;
  }
  if (error instanceof ResponseBodyError) return error.error === 'invalid_grant' ? SIGN_IN_EXPIRED : ISSUER_UNAVAILABLE;
  if (isUnusable(error)) return ISSUER_UNAVAILABLE;
  if (!(error instanceof ClientError) || UNAVAILABLE.includes(error.code ?? '')) return ISSUER_UNAVAILABLE;
  return IDENTITY_REFUSED;
}

/** The library wraps errors of its fetch. */
function isUnusable(error: unknown): boolean {
  return error instanceof UnusableIssuer || (error instanceof Error && error.cause instanceof UnusableIssuer);
}

export const IDENTITY_REFUSED = problem(
  'identity_refused',
  'The identity provider sent a sign-in that is not valid. Ask the operator: the log has the reason.',
);

export const ISSUER_UNAVAILABLE = problem(
  'issuer_unavailable',
  'The identity provider does not respond as it should. Try again in a minute, or ask the operator.',
  { retryAfterSeconds: 5 },
);

const ISSUER_REFUSED = problem('issuer_refused', 'The sign-in was cancelled, or the identity provider refused it.');

export const SIGN_IN_EXPIRED = problem(
  'sign_in_expired',
  'This sign-in has expired, or was used before. Sign in again.',
);

export const EMAIL_UNVERIFIED = problem(
  'email_unverified',
  'The identity provider has not verified your email address. Verify it there, then sign in again.',
);

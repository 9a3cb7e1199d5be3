import { ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';

const MAX_REASON_CHARACTERS = 200;

/** Keycloak sends the second one for a wrong secret. */
const CLIENT_REFUSED = ['invalid_client', 'unauthorized_client'];

/** True if the issuer refuses the client itself, not what it asks for. */
export function isClientRefused(error: unknown): boolean {
  if (error instanceof ResponseBodyError) return CLIENT_REFUSED.includes(error.error);
  // A Bearer challenge comes from the user info endpoint: it refuses the token, not the client.
  return error instanceof WWWAuthenticateChallengeError && error.cause.every(({ scheme }) => scheme !== 'bearer');
}

/** Reason for the process log. Its length is bounded, because the issuer chooses the words. */
export function explainFailure(failure: unknown): string {
  const { code, message, cause, error } = failure as Readonly<Record<string, unknown>>;
  const { status } = (cause instanceof Response ? cause : failure) as { readonly status?: number };
  return [
    isClientRefused(failure) ? 'sign_in.oidc.client_id or client_secret is refused' : undefined,
    ...[code, message, cause instanceof Error ? cause.message : undefined, error],
    status === undefined ? undefined : `status ${status}`,
  ]
    .filter((one) => typeof one === 'string')
    .join(': ')
    .replace(/[^\x20-\x7e]/g, ' ')
    .slice(0, MAX_REASON_CHARACTERS);
}

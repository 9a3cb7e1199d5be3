import { FAILURES } from './provider-failure.ts';

/** Envoy's own response contains this when it has no token for the request. */
export const NO_TOKEN = 'failed_to_inject_credential';

export const WITHOUT_TOKEN = {
  pending: FAILURES.tokenPending,
  refused: FAILURES.tokenRefused,
  unavailable: FAILURES.noToken,
} as const;

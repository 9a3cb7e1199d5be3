import { FAILURES } from './provider-failure.ts';

/** Part of Envoy's own response to a request for which it has no token. */
export const NO_TOKEN = 'failed_to_inject_credential';

export const WITHOUT_TOKEN = {
  pending: FAILURES.tokenPending,
  refused: FAILURES.tokenRefused,
  unavailable: FAILURES.noToken,
} as const;

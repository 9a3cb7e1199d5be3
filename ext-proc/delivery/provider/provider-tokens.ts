import type { Provider } from '#core/config/gateway-config.ts';
import { FAILURES } from './provider-failure.ts';

/** Access tokens that Envoy fetches for providers with `auth.oauth2`. */
export interface ProviderTokens {
  /** True if Envoy has a token, or knows that it gets none for now. */
  isSettled(provider: Provider): Promise<boolean>;
  /** Reason why Envoy sent a request of this provider back. */
  whyNone(provider: Provider): Promise<WhyNoToken>;
}

/** `refused`: the token endpoint does not accept the credentials. */
export type WhyNoToken = 'pending' | 'refused' | 'unavailable';

/** Part of Envoy's own response to a request for which it has no token. */
export const NO_TOKEN = 'failed_to_inject_credential';

export const WITHOUT_TOKEN = {
  pending: FAILURES.tokenPending,
  refused: FAILURES.tokenRefused,
  unavailable: FAILURES.noToken,
} as const;

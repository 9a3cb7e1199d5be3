import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { isStripeAway, isStripeError, stripeClient } from './stripe-client.ts';

/** `unknown`: the key has a form that Stripe did not use when this was written. */
export type StripeMode = 'live' | 'test' | 'unknown';

export type StripeCheck =
  | { readonly kind: 'answers'; readonly mode: StripeMode }
  | { readonly kind: 'away' | 'wrong_key' | 'not_allowed' };

const TIMEOUT_MS = 5_000;

/** Reads something from Stripe that every key of the dashboard may read. Changes nothing there. */
export async function checkStripe(config: StripeConfig): Promise<StripeCheck> {
  try {
    const stripe = await stripeClient(config);
    await stripe.paymentIntents.list({ limit: 1 }, { timeout: TIMEOUT_MS, maxNetworkRetries: 0 });
    return { kind: 'answers', mode: modeOf(config.secretKey) };
  } catch (error) {
    if (isStripeError(error, ['StripeAuthenticationError'])) return { kind: 'wrong_key' };
    if (isStripeError(error, ['StripePermissionError'])) return { kind: 'not_allowed' };
    if (isStripeAway(error)) return { kind: 'away' };
    throw error;
  }
}

/** Secret keys and restricted keys contain their mode: `sk_live_…`, `rk_test_…`. */
function modeOf(secretKey: string): StripeMode {
  const mode = /^[a-z]+_(live|test)_/.exec(secretKey)?.[1];
  return mode === 'live' || mode === 'test' ? mode : 'unknown';
}

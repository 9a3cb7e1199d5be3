import type { Target } from '#core/config/gateway-config.ts';
import { pause } from '../../fairness/wait.ts';
import { FAILURES } from '../provider/provider-failure.ts';
import { type ActiveDelivery, remainingMs, sinceStartMs } from './active-delivery.ts';

/** Envoy's own response contains this when it has no token for the request. */
export const NO_TOKEN = 'failed_to_inject_credential';

export const WITHOUT_TOKEN = {
  pending: FAILURES.tokenPending,
  refused: FAILURES.tokenRefused,
  unavailable: FAILURES.noToken,
} as const;

/** Envoy fetches a provider's first token after 1 s, and gives the token endpoint 5 s. */
const LONGEST_WAIT_MS = 6000;
const POLL_MS = 50;

/** Waits for the first token of a provider. Envoy would reject the request without it. */
export async function waitForToken(delivery: ActiveDelivery, { provider }: Target): Promise<void> {
  const { admitted, exchange, tokens } = delivery;
  const begunMs = sinceStartMs(delivery);
  while (!(await tokens.isSettled(provider))) {
    const leftMs = Math.min(remainingMs(delivery), begunMs + LONGEST_WAIT_MS - sinceStartMs(delivery));
    if (leftMs <= 0 || admitted.mustEnd.aborted || exchange.gone.aborted) return;
    await pause(Math.min(POLL_MS, leftMs), [admitted.mustEnd, exchange.gone]);
  }
}

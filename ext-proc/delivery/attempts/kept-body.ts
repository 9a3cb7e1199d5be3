import type { Target } from '#core/config/gateway-config.ts';
import type { MemoryReservation } from '../../fairness/shared-budget.ts';
import type { ActiveDelivery } from './active-delivery.ts';

/** Asks Envoy to keep the body of a request, so that it can call other endpoints with it. */
export const KEEP_BODY = ['x-gw-keep-body', 'true'];

/** Envoy keeps bodies up to this size without being asked (envoy/envoy.yaml). */
const SMALL_BYTES = 16 * 1024;
const MOST_BYTES = 256 * 1024;
/** Bound after a failed attempt, because the next one might reach the same server again. */
const MOST_BYTES_AGAIN = 16 * 1024 * 1024;

/**
 * Reserves memory for Envoy's copy of the body, which it has until the end of the response.
 * `undefined`: it keeps none, or a small one.
 */
export function keepBody(delivery: ActiveDelivery, { provider }: Target, bytes: number): MemoryReservation | undefined {
  if (provider.endpoints === undefined || bytes <= SMALL_BYTES) return undefined;
  const isAgain = delivery.attempts.some((attempt) => attempt.provider === provider.name);
  if (bytes > (isAgain ? MOST_BYTES_AGAIN : MOST_BYTES)) return undefined;
  const kept = delivery.keptBodies.open(delivery.admitted.organizationId);
  return kept.take(bytes) ? kept : undefined;
}

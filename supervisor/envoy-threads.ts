import { availableParallelism } from 'node:os';
import type { GatewayConfig } from '../ext-proc/config/gateway-config.ts';

/**
 * One for each gateway process: Envoy needs a little less CPU for a request than a gateway process does. A thread more than that costs both of them,
 * because fewer requests share a wake-up and a write (80 us of CPU at 32 in flight, measured). TLS is work of its own.
 */
export function envoyThreads(
  { workers, listen }: Pick<GatewayConfig, 'workers' | 'listen'>,
  cores = availableParallelism(),
): number {
  return Math.min(cores, workers + (listen.tls === undefined ? 0 : 1));
}

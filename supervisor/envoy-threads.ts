import { availableParallelism } from 'node:os';
import type { GatewayConfig } from '../core/config/gateway-config.ts';

/**
 * One for each gateway process: Envoy needs a little less CPU for a request than a gateway process does. With one more, fewer requests
 * share a wake-up and a write: 7 % more CPU for small requests. Only large bodies are dearer with one, whose pieces then mix on one
 * connection: 11 % at 100 KB (both measured on a busy machine). TLS is work of its own.
 */
export function envoyThreads(
  { workers, listen }: Pick<GatewayConfig, 'workers' | 'listen'>,
  cores = availableParallelism(),
): number {
  return Math.min(cores, workers + (listen.tls === undefined ? 0 : 1));
}

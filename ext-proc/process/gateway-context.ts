import type { Clock } from '#core/clock.ts';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { Log } from '#core/log/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Environment of each part of a gateway process. */
export interface GatewayContext {
  readonly paths: RuntimePaths;
  readonly workerIndex: number;
  readonly config: () => GatewayConfig;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Lease of a hold, and of a claim on an idempotency key. */
export const LEASE_MS = 15_000;

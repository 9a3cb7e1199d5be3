import { hostname } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import type { Log } from '../../core/log/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createSpanExporter, type SpanExporter } from '../tracing/span-exporter.ts';
import { createTracing, type Tracing } from '../tracing/tracing.ts';

export interface OpeningTracing {
  /** Tracing may be switched on, off and elsewhere while the process runs. */
  readonly config: () => GatewayConfig;
  readonly workerIndex: number;
  readonly version: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Traces of requests, and their way to the collector, until this process ends. */
export function openTracing(options: OpeningTracing): Tracing & Pick<SpanExporter, 'close'> {
  const { config, workerIndex, version, clock, metrics, log } = options;
  const resource = new Map([
    ['service.name', 'inference-gateway'],
    ['service.version', version],
    ['service.instance.id', `${hostname()}-${workerIndex}`],
  ]);
  const exporter = createSpanExporter({ target: () => config().tracing, resource, metrics, log });
  return { ...createTracing(clock, exporter), close: (withinMs) => exporter.close(withinMs) };
}

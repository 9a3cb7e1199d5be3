/** Begins the reason of a process that ends in order: it serves what it has, and fails nobody. */
export const DRAINING = 'draining';

export function isDraining(notReady: string | null | undefined): boolean {
  return notReady?.startsWith(DRAINING) === true;
}

/** What a gateway process reports about itself. Rates and lag are since the previous report. */
export interface ProcessFigures {
  readonly gatewayVersion: string;
  /** Reason why a request through Envoy would not be served now. Null: it would be. */
  readonly notReady: string | null;
  readonly overMs: number;
  /** Excludes readiness probes. */
  readonly requests: {
    readonly inFlight: number;
    readonly ended: number;
    /** Failures of the gateway or a provider, with broken streams and without refusals. */
    readonly failed: number;
  };
  readonly eventLoopLagMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly rssBytes: number;
  readonly heapUsedBytes: number;
  /** Fraction of one core. Above 1: other threads (token counts, garbage collection) work. */
  readonly cpuFraction: number;
  /** Charges that wait for PostgreSQL for so long that completions are refused. */
  readonly waitingCharges: { readonly count: number; readonly bytes: number };
  /** `totalNanoUsd` is an integer as decimal text. */
  readonly holds: { readonly totalNanoUsd: string; readonly count: number };
  /** Null if the process writes no request log. `dropped` counts from the process's start. */
  readonly requestLog: { readonly waiting: number; readonly dropped: number } | null;
  /** Null if another process of the host queries Envoy. */
  readonly envoy: ReportedEnvoy | null;
}

export type ReportedEnvoy =
  | { readonly reachable: false }
  | {
      readonly reachable: true;
      /** For example `1.39.3`. */
      readonly version: string;
      /** `LIVE`, `DRAINING`, `PRE_INITIALIZING`, `INITIALIZING` */
      readonly state: string;
      readonly uptimeMs: number;
    };

/** As in the alert EventLoopSlow. A lag delays the next tokens of every stream by the same time. */
const SLOW_MS = 250;
const FEW_CONNECTIONS = 5;
const SMALL_SHARE = 0.2;

export function isSlow({ eventLoopLagMs }: ProcessFigures): boolean {
  return eventLoopLagMs.p99 > SLOW_MS;
}

export interface DatabaseConnections {
  readonly connections: number;
  /** Maximum number of connections of all ordinary users. */
  readonly maxConnections: number;
}

/** `undefined`: enough connections are free. */
export function connectionsTrouble({ connections, maxConnections }: DatabaseConnections) {
  const free = maxConnections - connections;
  if (free < FEW_CONNECTIONS) return 'problem';
  return free < maxConnections * SMALL_SHARE ? 'warning' : undefined;
}

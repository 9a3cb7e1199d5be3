import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RouteName } from '../admission/route.ts';
import type { Attempt } from '../delivery/delivery.ts';

/** Prometheus metrics. Labels are bounded sets: routes, catalogue codes, configured providers; never a key, organization or address. */
export interface Metrics {
  readonly registry: Registry;
  /** `probe`: one of our own readiness probes. */
  requestStarted(probe: boolean): void;
  requestEnded(request: EndedRequest): void;
  attempts(attempts: readonly Attempt[]): void;
  /** Time from the request's arrival to the first event or byte of its answer. */
  firstEvent(milliseconds: number): void;
  charged(charge: {
    model: string;
    costUsd: number;
    promptTokens: number;
    completionTokens: number;
    counted: boolean;
  }): void;
  /** Requests that had to end because their hold's lease ran out, or was about to. */
  holdsLost(holds: number): void;
  settlementFailed(): void;
  /** A charge went to the dead letters: an operator has to look at it. */
  chargeBuried(): void;
  /** Neither PostgreSQL nor the spool took a charge. */
  chargeLost(): void;
  /** Says what waits in the spool whenever somebody asks. */
  watchSpool(pending: () => readonly { readonly bytes: number }[]): void;
  requestLogWritten(lines: number): void;
  requestLogDropped(lines: number): void;
  /** Says how many lines wait whenever somebody asks. */
  watchRequestLog(waiting: () => number): void;
}

export interface EndedRequest {
  readonly route: RouteName | 'none';
  readonly status: number;
  readonly code: string;
  readonly durationMs: number;
  readonly probe: boolean;
}

const DURATION_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Requests answered, by route, HTTP status and error code (empty: none).',
    labelNames: ['route', 'status', 'code'],
    registers,
  });
  const duration = new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'From the request headers to the end of the answer.',
    labelNames: ['route'],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const firstEvent = new Histogram({
    name: 'gateway_time_to_first_event_seconds',
    help: 'From the request headers to the first event of a streamed answer.',
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const attempts = new Counter({
    name: 'gateway_upstream_attempts_total',
    help: 'Provider calls, by provider and result.',
    labelNames: ['provider', 'result'],
    registers,
  });
  const inFlight = new Gauge({ name: 'gateway_requests_in_flight', help: 'Requests being served now.', registers });
  return {
    registry,
    requestStarted: () => inFlight.inc(),
    requestEnded({ route, status, code, durationMs }) {
      inFlight.dec();
      requests.inc({ route, status: String(status), code });
      duration.observe({ route }, durationMs / 1000);
    },
    attempts(list) {
      for (const { provider, result } of list) attempts.inc({ provider, result });
    },
    firstEvent: (milliseconds) => firstEvent.observe(milliseconds / 1000),
    ...chargeMetrics(registers),
    ...requestLogMetrics(registers),
  };
}

type ChargeMetrics = Pick<
  Metrics,
  'charged' | 'holdsLost' | 'settlementFailed' | 'chargeBuried' | 'chargeLost' | 'watchSpool'
>;

function chargeMetrics(registers: Registry[]): ChargeMetrics {
  const cost = new Counter({
    name: 'gateway_charged_usd_total',
    help: 'Charged to organizations, by model.',
    labelNames: ['model'],
    registers,
  });
  const tokens = new Counter({
    name: 'gateway_tokens_total',
    help: 'Tokens charged, by model and type.',
    labelNames: ['model', 'type'],
    registers,
  });
  const counted = new Counter({
    name: 'gateway_usage_counted_total',
    help: 'Answers whose usage the provider did not send, or sent absurd, and which were counted instead.',
    registers,
  });
  const lost = new Counter({
    name: 'gateway_holds_lost_total',
    help: 'Requests ended because the lease of their hold ran out, or could not be renewed in time.',
    registers,
  });
  const unsettled = new Counter({
    name: 'gateway_settlements_failed_total',
    help: 'Attempts to commit a charge that failed.',
    registers,
  });
  const buried = new Counter({
    name: 'gateway_dead_letters_total',
    help: 'Charges that the ledger refused and that were put into dead_letters; ledger verify counts what is there.',
    registers,
  });
  const lostCharges = new Counter({
    name: 'gateway_charges_lost_total',
    help: 'Charges that neither PostgreSQL nor the spool took: their answers ended with an error.',
    registers,
  });
  return {
    charged(charge) {
      cost.inc({ model: charge.model }, charge.costUsd);
      tokens.inc({ model: charge.model, type: 'prompt' }, charge.promptTokens);
      tokens.inc({ model: charge.model, type: 'completion' }, charge.completionTokens);
      if (charge.counted) counted.inc();
    },
    holdsLost: (holds) => lost.inc(holds),
    settlementFailed: () => unsettled.inc(),
    chargeBuried: () => buried.inc(),
    chargeLost: () => lostCharges.inc(),
    watchSpool: (pending) => addSpoolGauges(registers, pending),
  };
}

function addSpoolGauges(registers: Registry[], pending: () => readonly { readonly bytes: number }[]): void {
  new Gauge({
    name: 'gateway_spool_charges',
    help: 'Charges that wait in the spool for PostgreSQL; completions are refused meanwhile.',
    registers,
    collect() {
      this.set(pending().length);
    },
  });
  new Gauge({
    name: 'gateway_spool_bytes',
    help: 'Size of what waits in the spool.',
    registers,
    collect() {
      this.set(pending().reduce((sum, { bytes }) => sum + bytes, 0));
    },
  });
}

type RequestLogMetrics = Pick<Metrics, 'requestLogWritten' | 'requestLogDropped' | 'watchRequestLog'>;

function requestLogMetrics(registers: Registry[]): RequestLogMetrics {
  const written = new Counter({
    name: 'gateway_request_log_written_total',
    help: 'Lines written to the request log.',
    registers,
  });
  const dropped = new Counter({
    name: 'gateway_request_log_dropped_total',
    help: 'Lines that never came into the request log: too many were waiting, or PostgreSQL refused them.',
    registers,
  });
  return {
    requestLogWritten: (lines) => written.inc(lines),
    requestLogDropped: (lines) => dropped.inc(lines),
    watchRequestLog(waiting) {
      new Gauge({
        name: 'gateway_request_log_waiting',
        help: 'Lines of the request log that wait to be written.',
        registers,
        collect() {
          this.set(waiting());
        },
      });
    },
  };
}

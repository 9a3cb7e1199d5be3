import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { type Refusal, refuse } from '#core/errors/refusal.ts';
import type { NanoUsd } from '#core/money.ts';
import type { TokenUsage } from '#core/pricing.ts';
import type { Principal } from '#core/principal.ts';
import type { Route } from '../access/route.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RequestTrace } from '../telemetry/request-trace.ts';
import type { Exchange } from '../transport/exchange.ts';

/** A request whose caller may use its route, with configuration and prices at its arrival. */
export interface AuthorizedRequest {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly principal: Principal;
  readonly config: GatewayConfig;
  readonly arrivedAtMs: number;
  /** Counts a well-formed read against `read_rpm`. Malformed reads are not counted. */
  takeRead(): Promise<Refusal | undefined>;
  /** Filled as facts become known, for the access line and the row of the request log. */
  readonly notes: RequestNotes;
  readonly trace: RequestTrace | undefined;
}

export interface RequestNotes {
  model?: string;
  streamed?: boolean;
  generationId?: string;
  usage?: TokenUsage;
  costNanoUsd?: NanoUsd;
  providerCostNanoUsd?: NanoUsd;
  attempts?: readonly string[];
  /** Provider of the response, or the one that was tried last. */
  provider?: string;
  firstEventMs?: number;
  clientGone?: boolean;
  replayed?: boolean;
  /** `user` of the request. For the request log alone, as is `metadata`. */
  user?: string;
  /** Only of an admitted request: up to 40 KB of a refused or replayed one would cost nothing. */
  metadata?: string;
}

export type EndpointResult =
  | Refusal
  /** A 200 with a JSON body. */
  | { readonly kind: 'json'; readonly body: unknown }
  /** The endpoint has responded to the exchange itself, or the client has left. */
  | { readonly kind: 'responded'; readonly status: number; readonly refusal?: Refusal };

/** Refuses a read because too many of the organization's reads wait for the database. */
export function tooManyAtOnce({ metrics }: { readonly metrics: Pick<Metrics, 'admissionRefused'> }): Refusal {
  metrics.admissionRefused('reads');
  return refuse('rpm_exceeded', { problem: 'Too many reads of this organization at once.' }, { retryAfterSeconds: 1 });
}

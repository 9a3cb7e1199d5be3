import type { Clock } from '../../../core/clock.ts';
import type { Provider, Target } from '../../../core/config/gateway-config.ts';
import type { CountTokens, EstimateTokens } from '../../../core/tokenizer.ts';
import type { DeliveryHold } from '../../delivery-contract/delivery-hold.ts';
import type { Attempt } from '../../delivery-contract/provider-attempt.ts';
import type { SharedBudget } from '../../shared-budget/shared-budget.ts';
import type { Exchange } from '../../transport/exchange.ts';
import type { AdmittedRequest } from '../provider/admitted-request.ts';
import type { Identify } from '../provider/identities.ts';
import type { ProviderClient } from '../provider/provider-client.ts';
import type { ProviderFailure } from '../provider/provider-failure.ts';
import type { ResponseReader } from '../response/response-reader.ts';
import type { RequestMemory } from './request-memory.ts';

/** One delivery under way: what every step of it needs. */
export interface ActiveDelivery {
  readonly admitted: AdmittedRequest;
  readonly exchange: Exchange;
  readonly requestMemory: RequestMemory;
  readonly hold: DeliveryHold;
  readonly clock: Clock;
  readonly providers: ProviderClient;
  readonly identify: Identify;
  readonly countTokens: CountTokens;
  readonly estimateTokens: EstimateTokens;
  readonly responseBudget: SharedBudget;
  readonly reader: ResponseReader;
  /** Providers that Envoy could not reach the last time. */
  readonly unreachable: WeakSet<Provider>;
  readonly uncharged: UnchargedRecorder;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** The same moment on the wall clock. */
  readonly startedAtMs: number;
  readonly attempts: Attempt[];
}

/** An attempt that brought no answer that could be passed on. */
export interface FailedAttempt {
  readonly kind: 'failed';
  readonly failure: ProviderFailure;
  readonly target: Target;
  /** Absent: there was nothing to ask for any more, and the provider was not asked. */
  readonly asked?: AskedProvider;
}

/** State of the call when the attempt failed. */
export interface AskedProvider {
  /** Since the delivery began. */
  readonly askedMs: number;
  /**
   * The provider was sent the whole request, as far as this process can know: Envoy has taken all
   * of it.
   */
  readonly wasSent: boolean;
  /** Bytes of the body that arrived, if the status is a success. */
  readonly responseBytes: number;
  /** By which the provider can be asked about it, where it said one. */
  readonly requestId: string | undefined;
}

/** Records each attempt that no customer is charged for. */
export interface UnchargedRecorder {
  /** Returns at once. Call it before the next attempt. */
  record(delivery: ActiveDelivery, failed: FailedAttempt): void;
}

export function remainingMs({ admitted, clock }: ActiveDelivery): number {
  return Math.max(0, admitted.deadlineMs - clock.monotonicMs());
}

/** A client that is slow to take the last bytes is not cut off with the deadline itself. */
const LAST_BYTES_MS = 2000;

export function lastBytesMs(delivery: ActiveDelivery): number {
  const leftMs = remainingMs(delivery);
  return leftMs > LAST_BYTES_MS ? leftMs : LAST_BYTES_MS;
}

export function elapsedMs({ clock, startedMs }: ActiveDelivery): number {
  return clock.monotonicMs() - startedMs;
}

/**
 * True if the response is read to its end also when the client has left (docs/interface.md,
 * "Failures of providers"): a JSON response and one with an Idempotency-Key always, a stream as its
 * provider is configured; by default if the model reasons, because the reasoning is paid for before
 * the client sees output.
 */
export function isDrained({ admitted }: ActiveDelivery, { provider }: Target): boolean {
  if (!admitted.chat.stream || admitted.keepsResponse === true) return true;
  const onDisconnect = provider.onDisconnect ?? (admitted.model.reasoningEfforts.length > 0 ? 'drain' : 'abort');
  return onDisconnect === 'drain';
}

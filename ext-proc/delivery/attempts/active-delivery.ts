import type { Clock } from '#core/clock.ts';
import type { Provider, Target } from '#core/config/gateway-config.ts';
import type { JsonObject } from '#core/json-object.ts';
import type { CountTokens, EstimateTokens } from '#core/tokenizer.ts';
import type { ProviderTokens } from '../../envoy-config/envoy-tokens.ts';
import type { SharedBudget } from '../../fairness/shared-budget.ts';
import type { Attempt } from '../../hold/attempt.ts';
import type { DeliveryHold } from '../../hold/delivery-hold.ts';
import type { Exchange } from '../../transport/exchange.ts';
import type { AdmittedRequest } from '../provider/admitted-request.ts';
import type { BodyTranslator } from '../provider/body-translator.ts';
import type { EndpointPickers } from '../provider/endpoint-picker.ts';
import type { Identify } from '../provider/identities.ts';
import type { ProviderClient } from '../provider/provider-client.ts';
import type { ProviderFailure } from '../provider/provider-failure.ts';
import type { ResponseReader } from '../response/response-reader.ts';
import type { RequestMemory } from './request-memory.ts';
import type { RestingTargets } from './resting-targets.ts';
import type { Random } from './target-order.ts';

/** What all deliveries of a process share. */
export interface DeliveryParts {
  readonly clock: Clock;
  readonly providers: ProviderClient;
  readonly pickers: EndpointPickers;
  readonly tokens: ProviderTokens;
  readonly identify: Identify;
  readonly countTokens: CountTokens;
  readonly estimateTokens: EstimateTokens;
  /** Memory of all JSON responses together. */
  readonly responseBudget: SharedBudget;
  /** Memory of the bodies that Envoy keeps. */
  readonly keptBodies: SharedBudget;
  readonly reader: ResponseReader;
  readonly translator: BodyTranslator;
  /** Providers that Envoy could not reach in their last attempt. */
  readonly unreachable: WeakSet<Provider>;
  readonly resting: RestingTargets;
  /** Source of the order of weighted targets. */
  readonly random: Random;
  readonly uncharged: UnchargedRecorder;
}

/** Delivery in progress, with everything that its steps need. */
export interface ActiveDelivery extends DeliveryParts {
  readonly admitted: AdmittedRequest;
  readonly exchange: Exchange;
  readonly requestMemory: RequestMemory;
  readonly hold: DeliveryHold;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** Start on the wall clock. */
  readonly startedAtMs: number;
  readonly attempts: Attempt[];
}

/** Attempt without a response that could be delivered. */
export interface FailedAttempt {
  readonly kind: 'failed';
  readonly failure: ProviderFailure;
  readonly target: Target;
  /** Absent: the provider was not called. */
  readonly asked?: AskedProvider;
}

/** State of the call when the attempt failed. */
export interface AskedProvider {
  /** Since the delivery began. */
  readonly askedMs: number;
  /** True if this process sent the whole request. Whether Envoy sent it on is not known here. */
  readonly wasSent: boolean;
  /** Bytes of the body that arrived, if the status is a success. */
  readonly responseBytes: number;
  /** The provider's id of the request, if it sent one. */
  readonly requestId: string | undefined;
  /** Usage that a stream had reported before it failed, as members of a chunk. */
  readonly reported: JsonObject | undefined;
}

export interface UnchargedRecorder {
  /** Returns at once. Call it before the next attempt. */
  record(delivery: ActiveDelivery, failed: FailedAttempt): void;
}

export function remainingMs({ admitted, clock }: Pick<ActiveDelivery, 'admitted' | 'clock'>): number {
  return Math.max(0, admitted.deadlineMs - clock.monotonicMs());
}

/** Least time that a client has to read the last bytes, even after the deadline. */
const LAST_BYTES_MS = 2000;

export function lastBytesMs(delivery: Pick<ActiveDelivery, 'admitted' | 'clock'>): number {
  return Math.max(LAST_BYTES_MS, remainingMs(delivery));
}

export function sinceStartMs({ clock, startedMs }: ActiveDelivery): number {
  return clock.monotonicMs() - startedMs;
}

/**
 * True if the response is read to its end even after the client has left (docs/interface.md,
 * "Failures of providers"). JSON responses and responses with an Idempotency-Key always are. For
 * other streams the provider's `on_disconnect` decides. By default they are drained if the model
 * reasons, because reasoning is billed before the client sees output.
 */
export function isDrained({ admitted }: ActiveDelivery, target: Target): boolean {
  const { chat, keepsResponse, model, atDoor } = admitted;
  if (!chat.stream || keepsResponse === true) return true;
  const { onDisconnect } = target.provider;
  if (onDisconnect !== undefined) return onDisconnect === 'drain';
  return model.reasoningEfforts.length > 0 || atDoor?.asksToReason(target) === true;
}

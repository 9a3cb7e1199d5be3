import type { Clock } from '#core/clock.ts';
import type { Provider } from '#core/config/gateway-config.ts';
import { CLIENT_GONE_STATUS } from '#core/errors/error-codes.ts';
import type { Refusal } from '#core/errors/refusal.ts';
import type { CountTokens, EstimateTokens } from '#core/tokenizer.ts';
import type { ProviderTokens } from '../envoy-config/envoy-tokens.ts';
import { DeadlineTimer } from '../fairness/deadline-timer.ts';
import { type BudgetRefusal, SharedBudget } from '../fairness/shared-budget.ts';
import type { DeliveryHold, DeliveryOutcome } from '../hold/delivery-hold.ts';
import type { Exchange } from '../transport/exchange.ts';
import type { ActiveDelivery } from './attempts/active-delivery.ts';
import { openFirst } from './attempts/attempts.ts';
import { chargePrompt, paysItsPrompt } from './attempts/leaving.ts';
import { RequestMemory } from './attempts/request-memory.ts';
import { RestingTargets } from './attempts/resting-targets.ts';
import type { Random } from './attempts/target-order.ts';
import { UnchargedAttempts } from './attempts/uncharged-attempts.ts';
import { deliverJson } from './json/deliver-json.ts';
import { type Replay, type ReplayOutcome, replayResponse } from './json/replay.ts';
import { respondWithRefusal } from './json/respond.ts';
import { type ReadResponse, sendRead } from './json/send-read.ts';
import type { AdmittedRequest } from './provider/admitted-request.ts';
import { BodyTranslator } from './provider/body-translator.ts';
import { EndpointPickers, type PickerEvents } from './provider/endpoint-picker.ts';
import type { Identify } from './provider/identities.ts';
import { ProviderClient } from './provider/provider-client.ts';
import { FAILURES, refusalOf } from './provider/provider-failure.ts';
import { ResponseReader } from './response/response-reader.ts';
import { ClientStream } from './stream/client-stream.ts';
import { deliverStream, endAfterBug, endWithoutEvent } from './stream/deliver-stream.ts';

/** Delivers admitted requests: calls providers, sends the response, charges. */
export interface DeliveryService {
  /**
   * Delivers one request. Always responds to the exchange, unless its client has left. Charges at
   * most once, and nothing if no provider worked.
   */
  deliver(admitted: AdmittedRequest, exchange: Exchange, hold: DeliveryHold): Promise<DeliveryOutcome>;
  /** Sends the stored response of an earlier request, or refuses for now. */
  replay(replay: Replay, exchange: Exchange): Promise<ReplayOutcome>;
  /** Sends the response of a read. If memory is short, returns a refusal and sends nothing. */
  sendRead(read: ReadResponse, exchange: Exchange): Promise<Refusal | undefined>;
  /** Memory of all JSON responses together. */
  readonly responseBudget: Pick<SharedBudget, 'heldBytes' | 'limitBytes'>;
  restingTargets(providers: Iterable<string>): ReadonlyMap<string, number>;
  /** Ends every call in progress. Resolves when all failed attempts are recorded. */
  close(): Promise<void>;
}

export interface DeliveryServiceOptions {
  readonly egressSocketPath: string;
  readonly clock: Clock;
  readonly countTokens: CountTokens;
  readonly estimateTokens: EstimateTokens;
  readonly identify: Identify;
  readonly tokens: ProviderTokens;
  /** Memory of all JSON responses together. */
  readonly responseBudgetBytes?: number;
  /** Memory of the request bodies that Envoy keeps for this process. */
  readonly keptBodiesBytes?: number;
  /** Source of the order of weighted targets. Default: Math.random. */
  readonly random?: Random;
  /** Called when a response found no memory or was evicted. */
  readonly onMemoryRefused?: (why: BudgetRefusal) => void;
  readonly pickerEvents?: PickerEvents;
}

/** Large enough that the largest response fits a share by default. */
const RESPONSE_BUDGET_BYTES = 256 * 1024 * 1024;
/** A quarter of Envoy's heap (envoy/envoy.yaml), which the processes divide. */
export const KEPT_BODIES_BYTES = 512 * 1024 * 1024;

export function createDeliveryService(options: DeliveryServiceOptions): DeliveryService {
  const { egressSocketPath, clock, countTokens, estimateTokens, identify, tokens, random = Math.random } = options;
  const responseBudget = new SharedBudget(
    options.responseBudgetBytes ?? RESPONSE_BUDGET_BYTES,
    options.onMemoryRefused,
  );
  const keptBodies = new SharedBudget(options.keptBodiesBytes ?? KEPT_BODIES_BYTES);
  const reader = new ResponseReader();
  const translator = new BodyTranslator();
  const providers = new ProviderClient(egressSocketPath);
  const pickers = new EndpointPickers(clock.monotonicMs, options.pickerEvents);
  const uncharged = new UnchargedAttempts(countTokens);
  const unreachable = new WeakSet<Provider>();
  const heartbeats = new DeadlineTimer();
  const resting = new RestingTargets(clock.monotonicMs);
  return {
    responseBudget,
    deliver(admitted, exchange, hold) {
      const delivery = {
        admitted,
        exchange,
        requestMemory: new RequestMemory(admitted.chat, exchange.bodyMemory),
        hold,
        clock,
        providers,
        pickers,
        countTokens,
        estimateTokens,
        identify,
        tokens,
        responseBudget,
        keptBodies,
        reader,
        translator,
        uncharged,
        unreachable,
        resting,
        random,
        startedMs: clock.monotonicMs(),
        startedAtMs: clock.nowMs(),
        attempts: [],
      };
      return deliver(delivery, heartbeats);
    },
    replay: (replay, exchange) => replayResponse(replay, exchange, responseBudget),
    restingTargets: (providers) => resting.countFor(providers),
    sendRead: (read, exchange) => sendRead(read, exchange, responseBudget),
    close() {
      providers.close();
      pickers.close();
      heartbeats.close();
      reader.close();
      translator.close();
      return uncharged.settled();
    },
  };
}

async function deliver(delivery: ActiveDelivery, heartbeats: DeadlineTimer): Promise<DeliveryOutcome> {
  const client = new ClientStream(delivery, heartbeats);
  try {
    return await deliverTo(delivery, client);
  } catch (error) {
    await endAfterBug(delivery, client);
    throw error;
  } finally {
    client.stop();
    delivery.requestMemory.ended();
  }
}

async function deliverTo(delivery: ActiveDelivery, client: ClientStream): Promise<DeliveryOutcome> {
  const opened = await openFirst(delivery);
  switch (opened.kind) {
    case 'json':
      try {
        return await deliverJson(delivery, opened);
      } finally {
        opened.reservation.release();
      }
    case 'stream':
      return deliverStream(delivery, opened, client);
    case 'failed':
      // From here on no heartbeat may open the response.
      client.stop();
      if (opened.failure === FAILURES.abandoned) {
        const { target, asked } = opened;
        if (asked && paysItsPrompt(delivery, opened))
          await chargePrompt(delivery, { target, askedMs: asked.askedMs }, asked.reported);
        const status = client.isBegun ? 200 : CLIENT_GONE_STATUS;
        return { status, attempts: delivery.attempts, clientGone: true };
      }
      return client.isBegun
        ? endWithoutEvent(delivery, client, refusalOf(delivery.admitted, opened.failure))
        : respondWithRefusal(delivery, refusalOf(delivery.admitted, opened.failure));
  }
}

import { CLIENT_GONE_STATUS } from '#core/errors/error-codes.ts';
import { DeadlineTimer } from '../fairness/deadline-timer.ts';
import { type BudgetRefusal, SharedBudget } from '../fairness/shared-budget.ts';
import type { DeliveryHold, DeliveryOutcome } from '../hold/delivery-hold.ts';
import type { Exchange } from '../transport/exchange.ts';
import type { ActiveDelivery, DeliveryParts } from './attempts/active-delivery.ts';
import { openFirst } from './attempts/attempts.ts';
import { chargePrompt, paysItsPrompt } from './attempts/leaving.ts';
import { RequestMemory } from './attempts/request-memory.ts';
import { RestingTargets } from './attempts/resting-targets.ts';
import { UnchargedAttempts } from './attempts/uncharged-attempts.ts';
import { deliverJson } from './json/deliver-json.ts';
import { type Replay, replayResponse } from './json/replay.ts';
import { respondWithRefusal } from './json/respond.ts';
import { type ReadResponse, sendRead } from './json/send-read.ts';
import type { AdmittedRequest } from './provider/admitted-request.ts';
import { BodyTranslator } from './provider/body-translator.ts';
import { EndpointPickers, type PickerEvents } from './provider/endpoint-picker.ts';
import { ProviderClient } from './provider/provider-client.ts';
import { FAILURES, refusalOf } from './provider/provider-failure.ts';
import { ResponseReader } from './response/response-reader.ts';
import { ClientStream } from './stream/client-stream.ts';
import { deliverStream, endAfterBug, endWithoutEvent } from './stream/deliver-stream.ts';

export interface DeliveryServiceOptions
  extends Pick<DeliveryParts, 'clock' | 'countTokens' | 'estimateTokens' | 'identify' | 'tokens'>,
    Partial<Pick<DeliveryParts, 'random'>> {
  readonly egressSocketPath: string;
  readonly responseBudgetBytes?: number;
  readonly keptBodiesBytes?: number;
  /** Called when a response found no memory or was evicted. */
  readonly onMemoryRefused?: (why: BudgetRefusal) => void;
  readonly pickerEvents?: PickerEvents;
}

/** Large enough that the largest response fits a share by default. */
const RESPONSE_BUDGET_BYTES = 256 * 1024 * 1024;
/** A quarter of Envoy's heap (envoy/envoy.yaml), which the processes divide. */
export const KEPT_BODIES_BYTES = 512 * 1024 * 1024;

export type DeliveryService = ReturnType<typeof createDeliveryService>;

/** Delivers admitted requests: calls providers, sends the response, charges. */
export function createDeliveryService(options: DeliveryServiceOptions) {
  const { clock, countTokens, estimateTokens, identify, tokens, random = Math.random } = options;
  const { responseBudgetBytes = RESPONSE_BUDGET_BYTES, keptBodiesBytes = KEPT_BODIES_BYTES } = options;
  const uncharged = new UnchargedAttempts(countTokens);
  const heartbeats = new DeadlineTimer();
  const parts: DeliveryParts = {
    ...{ clock, countTokens, estimateTokens, identify, tokens, random, uncharged },
    providers: new ProviderClient(options.egressSocketPath),
    pickers: new EndpointPickers(clock.monotonicMs, options.pickerEvents),
    responseBudget: new SharedBudget(responseBudgetBytes, options.onMemoryRefused),
    keptBodies: new SharedBudget(keptBodiesBytes),
    reader: new ResponseReader(),
    translator: new BodyTranslator(),
    unreachable: new WeakSet(),
    resting: new RestingTargets(clock.monotonicMs),
  };
  const { responseBudget, resting } = parts;
  return {
    /** Memory of all JSON responses together. */
    responseBudget,
    /**
     * Delivers one request. Always responds to the exchange, unless its client has left. Charges at
     * most once, and nothing if no provider worked.
     */
    deliver(admitted: AdmittedRequest, exchange: Exchange, hold: DeliveryHold): Promise<DeliveryOutcome> {
      const delivery = {
        ...parts,
        admitted,
        exchange,
        requestMemory: new RequestMemory(admitted.chat, exchange.bodyMemory),
        hold,
        startedMs: clock.monotonicMs(),
        startedAtMs: clock.nowMs(),
        attempts: [],
      };
      return deliver(delivery, heartbeats);
    },
    /** Sends the stored response of an earlier request, or refuses for now. */
    replay: (replay: Replay, exchange: Exchange) => replayResponse(replay, exchange, responseBudget),
    /** Sends the response of a read. If memory is short, returns a refusal and sends nothing. */
    sendRead: (read: ReadResponse, exchange: Exchange) => sendRead(read, exchange, responseBudget),
    restingTargets: (providers: Iterable<string>) => resting.countFor(providers),
    /** Ends every call in progress. Resolves when all failed attempts are recorded. */
    close() {
      for (const part of [parts.providers, parts.pickers, heartbeats, parts.reader, parts.translator]) part.close();
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

import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { afterAll, onTestFinished } from 'vitest';
import { systemClock } from '#core/clock.ts';
import type { CountTokens, EstimateTokens } from '#core/tokenizer.ts';
import type { ProviderTokens } from '../envoy-config/envoy-tokens.ts';
import { SharedBudget } from '../fairness/shared-budget.ts';
import type { UnchargedAttempt } from '../hold/attempt.ts';
import type { DeliveryHold, DeliveryOutcome, ProviderOutput } from '../hold/delivery-hold.ts';
import type { Exchange, ResponseHead, ResponseStream, WholeResponse } from '../transport/exchange.ts';
import { type AdmittedRequestOptions, admittedRequest } from './admitted-request.fixture.ts';
import { createDeliveryService, type DeliveryService, type DeliveryServiceOptions } from './delivery-service.ts';
import { type Egress, startEgress } from './egress.fixture.ts';
import type { AdmittedRequest } from './provider/admitted-request.ts';
import { createIdentities } from './provider/identities.ts';

/** A client, and what reached it. */
export interface Client {
  readonly exchange: Exchange;
  readonly responses: WholeResponse[];
  readonly heads: ResponseHead[];
  /** Each write of a stream. */
  readonly written: string[];
  /** How often the writer of a stream has waited for it to be read. */
  readonly waits: number;
  readonly ended: boolean;
  readonly aborted: boolean;
  text(): string;
  leave(): void;
  /** From now on writes find the buffer full, until `read`. */
  stopReading(): void;
  read(): void;
}

export function client(bodyMemory = new SharedBudget(1_000_000).open()): Client {
  const gone = new AbortController();
  const responses: WholeResponse[] = [];
  const heads: ResponseHead[] = [];
  const written: string[] = [];
  let reading = true;
  let waits = 0;
  let ended = false;
  let aborted = false;
  let drained: (() => void)[] = [];
  const wake = () => {
    const waiting = drained;
    drained = [];
    for (const one of waiting) one();
  };
  const untilRead = () =>
    new Promise<void>((resolve) => (reading || gone.signal.aborted ? resolve() : drained.push(resolve)));
  const stream: ResponseStream = {
    write(bytes) {
      if (!gone.signal.aborted) written.push(Buffer.from(bytes).toString());
      return reading;
    },
    drained() {
      waits += 1;
      return untilRead();
    },
    get hasUnsent() {
      return !reading;
    },
    async end(bytes) {
      if (bytes && !gone.signal.aborted) written.push(Buffer.from(bytes).toString());
      await untilRead();
      ended = !gone.signal.aborted;
    },
    abort() {
      aborted = true;
      gone.abort();
      wake();
    },
  };
  const exchange: Exchange = {
    requestId: 'request',
    method: 'POST',
    path: '/v1/chat/completions',
    peerAddress: '127.0.0.1',
    header: () => undefined,
    readBody: () => Promise.reject(new Error('delivery does not read the body')),
    bodyMemory,
    async respond(response) {
      responses.push(response);
    },
    async openStream(head) {
      heads.push(head);
      return gone.signal.aborted ? undefined : stream;
    },
    gone: gone.signal,
  };
  return {
    exchange,
    responses,
    heads,
    written,
    get waits() {
      return waits;
    },
    get ended() {
      return ended;
    },
    get aborted() {
      return aborted;
    },
    text: () => written.join(''),
    leave() {
      gone.abort();
      wake();
    },
    stopReading() {
      reading = false;
    },
    read() {
      reading = true;
      wake();
    },
  };
}

/** An account whose request leaves no trace anywhere else. */
export const UNWATCHED: Pick<DeliveryHold, 'asked' | 'delivers' | 'outputEnded'> = {
  asked: () => undefined,
  delivers: () => undefined,
  outputEnded: () => undefined,
};

/** One token a word, so that tests can count by eye. */
export const countWords: CountTokens = async (texts) =>
  texts.map((text) => text.split(/\s+/).filter((word) => word !== '').length);

const estimateTokens: EstimateTokens = (text) => text.split(' ').length;

export interface Delivered {
  readonly outcome: DeliveryOutcome;
  readonly charges: readonly ProviderOutput[];
  /** Complete once the delivery is closed, or the count has come. */
  readonly uncharged: readonly UnchargedAttempt[];
  /** How many answers the client had when the hold was released, for each time it was. */
  readonly responsesAtRelease: readonly number[];
}

export async function deliverTo(
  delivery: DeliveryService,
  to: Client,
  what: AdmittedRequest,
  charge?: DeliveryHold['charge'],
): Promise<Delivered> {
  const charges: ProviderOutput[] = [];
  const uncharged: UnchargedAttempt[] = [];
  const responsesAtRelease: number[] = [];
  const outcome = await delivery.deliver(what, to.exchange, {
    ...UNWATCHED,
    costUsd: () => 0.25,
    async charge(produced, response) {
      charges.push(produced);
      return charge?.(produced, response);
    },
    uncharged: (attempt) => void uncharged.push(attempt),
    async release() {
      responsesAtRelease.push(to.responses.length);
    },
  });
  return { outcome, charges, uncharged, responsesAtRelease };
}

/**
 * For all tests of a file: an egress of its own, and deliveries through it. Both are closed after
 * the last of them.
 */
export async function openDelivery() {
  const egress = await startEgress();
  const delivery = deliveryOver(egress);
  afterAll(async () => {
    await delivery.close();
    await egress.close();
  });
  async function deliver(options: AdmittedRequestOptions = {}, to = client(), charge?: DeliveryHold['charge']) {
    const delivered = await deliverTo(delivery, to, admittedRequest(options), charge);
    return { ...delivered, to, text: to.text() };
  }
  const deliverStream: typeof deliver = (options, ...more) => deliver({ stream: true, ...options }, ...more);
  /** Another delivery over the same egress, for the rest of a test. */
  const another = (options: Partial<DeliveryServiceOptions> = {}) => {
    const created = deliveryOver(egress, options);
    onTestFinished(() => created.close());
    return created;
  };
  return { egress, delivery, deliver, deliverStream, another };
}

/**
 * Within some turns of the event loop: unlike by the clock, a process that stands still meanwhile
 * makes no difference.
 */
export async function endsSoonAfter(signal: AbortSignal, delivering: Promise<unknown>): Promise<boolean> {
  let ended = false;
  void delivering.finally(() => {
    ended = true;
  });
  if (!signal.aborted) await once(signal, 'abort');
  for (let turn = 0; turn < 20 && !ended; turn++) await setImmediate();
  return ended;
}

/** No provider here has a token of Envoy's. */
const tokens: ProviderTokens = { isSettled: async () => true, whyNone: async () => 'unavailable' };

export function deliveryOver(egress: Egress, options: Partial<DeliveryServiceOptions> = {}): DeliveryService {
  const { socketPath: egressSocketPath } = egress;
  const counting = { countTokens: countWords, estimateTokens };
  const identify = createIdentities(Buffer.alloc(32));
  return createDeliveryService({ egressSocketPath, clock: systemClock, ...counting, identify, tokens, ...options });
}

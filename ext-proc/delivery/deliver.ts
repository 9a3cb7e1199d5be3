import type { Clock } from '../../core/clock.ts';
import type { Provider } from '../../core/config/gateway-config.ts';
import type { Refusal } from '../../core/errors/refusal.ts';
import type { CountTokens, EstimateTokens } from '../../core/tokenizer.ts';
import type { Account, DeliveryOutcome } from '../delivery-contract/delivery.ts';
import { type Refused, SharedBudget } from '../shared-budget/shared-budget.ts';
import type { Exchange } from '../transport/exchange.ts';
import { openFirst } from './attempts/attempts.ts';
import { chargePrompt, paysItsPrompt } from './attempts/leaving.ts';
import { RequestMemory } from './attempts/request-memory.ts';
import type { Run } from './attempts/run.ts';
import { UnchargedAttempts } from './attempts/uncharged-attempts.ts';
import { deliverJson } from './json/deliver-json.ts';
import { type Replay, type ReplayOutcome, replayAnswer } from './json/replay.ts';
import { answerRefusal } from './json/respond.ts';
import { type ReadAnswer, sendRead } from './json/send-read.ts';
import type { Identify } from './provider/identities.ts';
import type { Order } from './provider/order.ts';
import { ProviderClient } from './provider/provider-client.ts';
import { FAILURES, refusalOf } from './provider/provider-failure.ts';
import { AnswerReader } from './response/answer-reader.ts';
import { deliverStream } from './stream/deliver-stream.ts';

/** Takes an admitted order to its provider and the answer to its client. */
export interface Delivery {
  /** Always answers the exchange, unless its client has left. Charges at most once, and nothing when no provider had anything to do. */
  deliver(order: Order, exchange: Exchange, account: Account): Promise<DeliveryOutcome>;
  /** Answers with what an earlier attempt was answered, or refuses, for now. */
  replay(replay: Replay, exchange: Exchange): Promise<ReplayOutcome>;
  /** Sends what was read for a client. A refusal: there is no room for it, and nothing was answered. */
  sendRead(read: ReadAnswer, exchange: Exchange): Promise<Refusal | undefined>;
  /** JSON answers in memory, all together. */
  readonly answers: Pick<SharedBudget, 'heldBytes' | 'limitBytes'>;
  /** Ends every call under way; resolves when the accounts know of every attempt that had failed. */
  close(): Promise<void>;
}

export interface DeliveryOptions {
  readonly egressSocketPath: string;
  readonly clock: Clock;
  readonly countTokens: CountTokens;
  readonly estimateTokens: EstimateTokens;
  readonly identify: Identify;
  /** JSON answers in memory, all together. */
  readonly answerBudgetBytes?: number;
  /** An answer found no room, or gave way. */
  readonly onNoRoom?: (why: Refused) => void;
}

/** So that the largest answer, by default, is within a share. */
const ANSWER_BUDGET_BYTES = 256 * 1024 * 1024;

/** For log and metrics only: the client left before there was an answer. */
const CLIENT_GONE_STATUS = 499;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { egressSocketPath, clock, countTokens, estimateTokens, identify } = options;
  const answers = new SharedBudget(options.answerBudgetBytes ?? ANSWER_BUDGET_BYTES, options.onNoRoom);
  const reader = new AnswerReader();
  const providers = new ProviderClient(egressSocketPath);
  const uncharged = new UnchargedAttempts(countTokens);
  const unreachable = new WeakSet<Provider>();
  return {
    answers,
    deliver(order, exchange, account) {
      const [startedMs, startedAtMs] = [clock.monotonicMs(), clock.nowMs()];
      const run = {
        order,
        exchange,
        request: new RequestMemory(order.chat, exchange.bodyRoom),
        account,
        clock,
        providers,
        countTokens,
        estimateTokens,
        identify,
        answers,
        reader,
        uncharged,
        unreachable,
      };
      return deliver({ ...run, startedMs, startedAtMs, attempts: [] });
    },
    replay: (replay, exchange) => replayAnswer(replay, exchange, answers),
    sendRead: (read, exchange) => sendRead(read, exchange, answers),
    close() {
      providers.close();
      reader.close();
      return uncharged.settled();
    },
  };
}

async function deliver(run: Run): Promise<DeliveryOutcome> {
  const opened = await openFirst(run);
  switch (opened.kind) {
    case 'json':
      try {
        return await deliverJson(run, opened);
      } finally {
        opened.room.release();
      }
    case 'stream':
      return deliverStream(run, opened);
    case 'failed':
      if (opened.failure === FAILURES.abandoned) {
        const { target, asked } = opened;
        if (asked && paysItsPrompt(run, opened)) await chargePrompt(run, { target, askedMs: asked.askedMs });
        return { status: CLIENT_GONE_STATUS, attempts: run.attempts, clientGone: true };
      }
      return answerRefusal(run, refusalOf(run.order, opened.failure));
  }
}

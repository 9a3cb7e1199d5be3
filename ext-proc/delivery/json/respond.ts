import { type Refusal, renderRefusal } from '../../../core/errors/refusal.ts';
import type { DeliveryOutcome } from '../../delivery-contract/delivery.ts';
import type { Answer } from '../../transport/exchange.ts';
import { lastBytesMs, type Run } from '../attempts/run.ts';
import { settlesWithin } from '../waits/wait.ts';

/** Hands an answer on. A client that does not take it in time is left to the transport, which bounds what it keeps for it. */
export async function respond(run: Run, answer: Answer): Promise<void> {
  await settlesWithin(run.exchange.respond(answer), lastBytesMs(run));
}

/** The hold is free before the client knows, so that its next request is not refused for it. */
export async function answerRefusal(run: Run, refusal: Refusal): Promise<DeliveryOutcome> {
  const { order, exchange, attempts } = run;
  await run.account.release();
  const rendered = renderRefusal(refusal);
  await respond(run, { ...rendered, headers: { ...order.responseHeaders, ...rendered.headers } });
  return { status: rendered.status, refusal, attempts, clientGone: exchange.gone.aborted };
}

import { type Refusal, renderRefusal } from '../errors/refusal.ts';
import type { Answer } from '../transport/exchange.ts';
import type { DeliveryOutcome } from './delivery.ts';
import { type Run, remainingMs } from './run.ts';
import { settlesWithin } from './wait.ts';

/** How long handing an answer on may take when the deadline has passed. */
const LAST_BYTES_MS = 5000;

/** Hands an answer on. A client that does not take it in time is left to the transport, which bounds what it keeps for it. */
export async function respond(run: Run, answer: Answer): Promise<void> {
  const leftMs = remainingMs(run);
  await settlesWithin(run.exchange.respond(answer), leftMs > LAST_BYTES_MS ? leftMs : LAST_BYTES_MS);
}

export async function answerRefusal(run: Run, refusal: Refusal): Promise<DeliveryOutcome> {
  const { order, exchange, attempts } = run;
  const rendered = renderRefusal(refusal);
  await respond(run, { ...rendered, headers: { ...order.responseHeaders, ...rendered.headers } });
  return { status: rendered.status, refusal, attempts, clientGone: exchange.gone.aborted };
}

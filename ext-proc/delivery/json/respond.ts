import { type Refusal, renderRefusal } from '../../../core/errors/refusal.ts';
import type { DeliveryOutcome } from '../../delivery-contract/delivery-hold.ts';
import type { WholeResponse } from '../../transport/exchange.ts';
import { type ActiveDelivery, lastBytesMs } from '../attempts/active-delivery.ts';
import { settlesWithin } from '../waits/wait.ts';

/**
 * Hands an answer on. A client that does not take it in time is left to the transport, which bounds
 * what it keeps for it.
 */
export async function respond(delivery: ActiveDelivery, response: WholeResponse): Promise<void> {
  await settlesWithin(delivery.exchange.respond(response), lastBytesMs(delivery));
}

/** The hold is free before the client knows, so that its next request is not refused for it. */
export async function respondWithRefusal(delivery: ActiveDelivery, refusal: Refusal): Promise<DeliveryOutcome> {
  const { admitted, exchange, attempts } = delivery;
  await delivery.hold.release();
  const rendered = renderRefusal(refusal);
  await respond(delivery, { ...rendered, headers: { ...admitted.responseHeaders, ...rendered.headers } });
  return { status: rendered.status, refusal, attempts, clientGone: exchange.gone.aborted };
}

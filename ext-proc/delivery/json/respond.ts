import type { Refusal } from '#core/errors/refusal.ts';
import { renderAtDoor } from '../../doors/refusal-at-door.ts';
import { settlesWithin } from '../../fairness/wait.ts';
import type { DeliveryOutcome } from '../../hold/delivery-hold.ts';
import type { WholeResponse } from '../../transport/exchange.ts';
import { type ActiveDelivery, lastBytesMs } from '../attempts/active-delivery.ts';

/** Sends a response. The transport bounds the wait for a slow client and the memory. */
export async function respond(delivery: ActiveDelivery, response: WholeResponse): Promise<void> {
  await settlesWithin(delivery.exchange.respond(response), lastBytesMs(delivery));
}

/** Releases the hold first, so that the client's next request is not refused because of it. */
export async function respondWithRefusal(delivery: ActiveDelivery, refusal: Refusal): Promise<DeliveryOutcome> {
  const { admitted, exchange, attempts } = delivery;
  await delivery.hold.release();
  const rendered = renderAtDoor(refusal, admitted.atDoor?.door, admitted.requestId);
  await respond(delivery, { ...rendered, headers: { ...admitted.responseHeaders, ...rendered.headers } });
  return { status: rendered.status, refusal, attempts, clientGone: exchange.gone.aborted };
}

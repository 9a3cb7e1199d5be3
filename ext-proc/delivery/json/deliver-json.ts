import { embeddingsUsage } from '../../doors/embeddings/embeddings-response.ts';
import { bytesOf } from '../../fairness/bytes-of.ts';
import type { DeliveryOutcome } from '../../hold/delivery-hold.ts';
import type { ProducedMessage } from '../../reasoning/produced-message.ts';
import { type ActiveDelivery, lastBytesMs, sinceStartMs } from '../attempts/active-delivery.ts';
import type { OpenedJson } from '../attempts/attempt.ts';
import { describeResponse } from '../attempts/attempt-span.ts';
import { chargeResponse } from '../attempts/charge-response.ts';
import { doorApiOf } from '../provider/admitted-request.ts';
import { ResponseMeter } from '../response/response-meter.ts';
import { usageJson } from '../response/usage.ts';
import { respond, respondWithRefusal } from './respond.ts';
import { LARGE_BYTES, sendLarge } from './send-large.ts';

/**
 * Charges a whole response, and only then sends it (docs/design.md, "Invariants", 4). Its text is
 * edited, not serialized again.
 */
export async function deliverJson(delivery: ActiveDelivery, opened: OpenedJson): Promise<DeliveryOutcome> {
  const { admitted, exchange, attempts } = delivery;
  const provider = opened.target.provider.name;
  const endedMs = sinceStartMs(delivery);
  const { askedMs, firstEventMs } = opened;
  attempts.push({
    provider,
    result: 'ok',
    durationMs: endedMs - askedMs,
    firstEventAfterCallMs: firstEventMs - askedMs,
  });
  const generationTimeMs = endedMs - firstEventMs;
  const meter = new ResponseMeter(admitted);
  const { response } = opened;
  if (response.measured) meter.takeMeasured(response.measured);
  meter.take(response.completion);
  const metered = await meter.usage(admitted.chat, delivery.countTokens, false);
  const { usage, usageCounted } = metered;
  describeResponse(admitted, meter, usage);
  const costUsd = delivery.hold.costUsd(metered);
  const usageOf = doorApiOf(admitted) === 'embeddings' ? embeddingsUsage : admitted.atDoor?.door.usage;
  const charged = usageOf?.({ ...metered, costUsd });
  const last = `,"usage":${charged ?? usageJson(usageCounted ? undefined : response.usage, usage, costUsd)}}`;
  // A large response is not copied.
  const body =
    typeof response.open === 'string' ? [Buffer.from(response.open + last)] : [response.open, Buffer.from(last)];
  // Kept before the response is sent, because the client's next request may need it at once.
  const kept = admitted.reasoning?.keep(messageOf(delivery, opened), opened.target);
  const refused = await chargeResponse(
    delivery,
    opened,
    {
      provider,
      providerModel: opened.target.model,
      ...meter.facts(),
      ...metered,
      cancelled: exchange.gone.aborted,
      firstEventMs,
      generationTimeMs,
    },
    admitted.keepsResponse ? wholeOf(body) : undefined,
  );
  await kept;
  if (refused) return respondWithRefusal(delivery, refused);
  const headers = {
    ...admitted.responseHeaders,
    'content-type': 'application/json',
    'x-generation-id': admitted.generationId,
  };
  const head = { status: 200, headers };
  if (bytesOf(body) <= LARGE_BYTES) await respond(delivery, { ...head, body: wholeOf(body) });
  else
    await sendLarge(exchange, head, body, opened.reservation, {
      isKept: admitted.keepsResponse === true,
      timeoutMs: lastBytesMs(delivery),
    });
  const clientGone = exchange.gone.aborted;
  const oddities = { usageMismatch: meter.mismatch, hasUnreadCache: meter.hasUnreadCache() };
  return { status: 200, attempts, firstEventMs, clientGone, ...oddities };
}

/** The message whose reasoning is kept. `undefined`: none is, as when long texts were cut off. */
function messageOf({ admitted }: ActiveDelivery, { response, target }: OpenedJson): ProducedMessage | undefined {
  if (response.measured) return undefined;
  const message = admitted.reasoning?.messageOf(target);
  message?.take(response.completion.choices);
  return message;
}

function wholeOf(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
}

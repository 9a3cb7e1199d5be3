import { type Refusal, refuse } from '#core/errors/refusal.ts';
import type { DeliveryOutcome, MeteredUsage, ProviderOutput } from '../../hold/delivery-hold.ts';
import { type ActiveDelivery, lastBytesMs } from '../attempts/active-delivery.ts';
import { describeResponse, endStreamSpan } from '../attempts/attempt-span.ts';
import { chargeResponse } from '../attempts/charge-response.ts';
import type { OpenedStream } from '../attempts/open-stream.ts';
import { brokenStreamRefusal, FAILURES } from '../provider/provider-failure.ts';
import type { ClientStream } from './client-stream.ts';
import { ResponseRecord } from './response-record.ts';
import { type RelayedStream, relayStream } from './stream-relay.ts';
import { StreamWriter } from './stream-writer.ts';

/** Relays a stream, charges for it, then writes its end (docs/design.md, "Invariants", 4 and 5). */
export async function deliverStream(
  delivery: ActiveDelivery,
  opened: OpenedStream,
  client: ClientStream,
): Promise<DeliveryOutcome> {
  const { admitted, exchange } = delivery;
  const record = admitted.keepsResponse
    ? new ResponseRecord(delivery.responseBudget, admitted.organizationId)
    : undefined;
  const memory = delivery.responseBudget.open(admitted.organizationId);
  let complete = false;
  try {
    const relayed = await relayStream(delivery, opened, client, record, memory);
    const { writer } = relayed;
    complete = relayed.failure === undefined;
    noteAttempt(delivery, opened, relayed);
    const metered = await relayed.meter.usage(admitted.chat, delivery.countTokens, relayed.isCut);
    describeResponse(admitted, relayed.meter, metered.usage);
    delivery.hold.outputEnded(metered);
    const charged = { ...metered, costUsd: delivery.hold.costUsd(metered) };
    const whole = complete ? writer.ended(charged) : '';
    if (writer.bug) complete = false;
    const failed =
      relayed.failure ?? (writer.bug ? FAILURES.malformed : relayed.isUnread ? FAILURES.deadline : undefined);
    const broken = failed && brokenStreamRefusal(failed);
    // A client that did not read can get the response later with its Idempotency-Key.
    const isWhole = complete && (!relayed.isUnread || record !== undefined);
    // Kept before the end is sent, because the client's next request may need it at once.
    const kept = isWhole ? admitted.reasoning?.keep(relayed.message, opened.target) : undefined;
    const produced = producedOutput(opened, relayed, metered, isWhole, exchange.gone.aborted);
    const stored = isWhole ? record?.whole(whole) : undefined;
    const refused = await chargeResponse(delivery, opened, produced, stored);
    await kept;
    // The charge has stored the response. The client may take long to read the end.
    record?.release();
    const outcome = {
      status: 200,
      attempts: delivery.attempts,
      firstEventMs: opened.firstEventMs,
      usageMismatch: relayed.meter.mismatch,
      hasUnreadCache: relayed.meter.hasUnreadCache(),
    };
    if (relayed.client === undefined) return { ...outcome, clientGone: true };
    const refusal = broken ?? refused;
    // Without a charge there is no usage to report. The hold is released before the client can
    // send another request.
    if (refused) await delivery.hold.release();
    const last = broken ? writer.failed(broken, charged) : whole;
    const end = refused ? writer.failed(broken ?? refused) : last;
    const inTime = await relayed.client.end(end);
    // The delivered output is charged by now. The caller logs the bug.
    if (writer.bug) throw writer.bug.error;
    return { ...outcome, ...(refusal ? { refusal } : {}), clientGone: !inTime || exchange.gone.aborted };
  } finally {
    record?.release();
    memory.release();
    opened.source.release();
    opened.call.release(complete);
  }
}

function noteAttempt({ admitted, attempts }: ActiveDelivery, opened: OpenedStream, relayed: RelayedStream): void {
  const { failure, lastEventMs } = relayed;
  endStreamSpan(admitted, failure);
  attempts.push({
    provider: opened.target.provider.name,
    result: failure?.result ?? 'ok',
    account: failure?.account,
    durationMs: lastEventMs - opened.askedMs,
    firstEventAfterCallMs: opened.firstEventMs - opened.askedMs,
  });
}

function producedOutput(
  { target, firstEventMs }: OpenedStream,
  { meter, lastEventMs }: RelayedStream,
  metered: MeteredUsage,
  isWhole: boolean,
  isGone: boolean,
): ProviderOutput {
  return {
    provider: target.provider.name,
    providerModel: target.model,
    ...meter.facts(),
    // The finish reason in the final event. A client that left did not read it: its generation is
    // `cancelled` instead.
    ...(!isWhole && !isGone ? { finishReason: 'error' } : {}),
    ...metered,
    cancelled: isGone,
    firstEventMs,
    generationTimeMs: lastEventMs - firstEventMs,
  };
}

/** Ends a stream in which the client got only heartbeats. Nothing is charged. */
export async function endWithoutEvent(
  delivery: ActiveDelivery,
  client: ClientStream,
  refusal: Refusal,
): Promise<DeliveryOutcome> {
  const { admitted, attempts, exchange } = delivery;
  await delivery.hold.release();
  const isOpen = await client.open(lastBytesMs(delivery));
  const inTime = isOpen && (await client.end(new StreamWriter(admitted, false).failed(refusal)));
  return { status: 200, refusal, attempts, clientGone: !inTime || exchange.gone.aborted };
}

/**
 * Ends a stream after a bug of ours, such as a charge that the ledger finds impossible: the client
 * must not be cut off without a word (docs/design.md, "Invariants", 5).
 */
export async function endAfterBug(delivery: ActiveDelivery, client: ClientStream): Promise<void> {
  const writer = client.writer ?? new StreamWriter(delivery.admitted, false);
  await client.end(writer.failed(refuse('internal_error')));
}

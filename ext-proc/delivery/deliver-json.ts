import { AnswerMeter } from './answer-meter.ts';
import type { OpenedJson } from './attempt.ts';
import { describeAnswer } from './attempt-span.ts';
import { chargeAnswer } from './charge-answer.ts';
import type { DeliveryOutcome } from './delivery.ts';
import { editObject, membersOf } from './json-members.ts';
import { answerRefusal, respond } from './respond.ts';
import { elapsedMs, lastBytesMs, type Run } from './run.ts';
import { LARGE_BYTES, sendLarge } from './send-large.ts';
import { hidingEdits } from './shown-members.ts';
import { usageJson } from './usage.ts';

/** Charges a whole answer, and only then sends it (DESIGN invariant 4). Its text is edited, not written anew. */
export async function deliverJson(run: Run, opened: OpenedJson): Promise<DeliveryOutcome> {
  const { order, exchange, attempts } = run;
  const provider = opened.target.provider.name;
  const endedMs = elapsedMs(run);
  const { askedMs, latencyMs } = opened;
  attempts.push({ provider, result: 'ok', durationMs: endedMs - askedMs, firstEventMs: latencyMs - askedMs });
  const generationTimeMs = endedMs - latencyMs;
  const meter = new AnswerMeter(order);
  meter.take(opened.completion);
  const { usage, counted } = await meter.usage(order.chat, run.countTokens, exchange.gone.aborted);
  describeAnswer(order, meter, usage);
  const members = membersOf(opened.text);
  const sent = members.findLast((member) => member.name === 'usage');
  const provided = counted || sent === undefined ? undefined : opened.text.slice(sent.valueStart, sent.valueEnd);
  const text = editObject(
    opened.text,
    {
      ...hidingEdits(opened.completion),
      id: JSON.stringify(order.generationId),
      model: JSON.stringify(order.model.id),
      usage: usageJson(provided, usage, run.account.costUsd(usage)),
    },
    members,
  );
  const body = Buffer.from(text);
  const refused = await chargeAnswer(
    run,
    opened,
    {
      provider,
      providerModel: opened.target.model,
      ...meter.facts(),
      usage,
      usageCounted: counted,
      cancelled: exchange.gone.aborted,
      latencyMs,
      generationTimeMs,
    },
    order.keepsAnswer ? body : undefined,
  );
  if (refused) return answerRefusal(run, refused);
  const headers = {
    ...order.responseHeaders,
    'content-type': 'application/json',
    'x-generation-id': order.generationId,
  };
  const answer = { status: 200, headers, body };
  if (body.length <= LARGE_BYTES) await respond(run, answer);
  else
    await sendLarge(exchange, answer, opened.room, { isKept: order.keepsAnswer === true, timeoutMs: lastBytesMs(run) });
  const clientGone = exchange.gone.aborted;
  return { status: 200, attempts, timeToFirstEventMs: latencyMs, clientGone, usageMismatch: meter.mismatch };
}

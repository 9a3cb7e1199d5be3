import type { DeliveryOutcome } from '../../delivery-contract/delivery.ts';
import type { OpenedJson } from '../attempts/attempt.ts';
import { describeAnswer } from '../attempts/attempt-span.ts';
import { chargeAnswer } from '../attempts/charge-answer.ts';
import { elapsedMs, lastBytesMs, type Run } from '../attempts/run.ts';
import { AnswerMeter } from '../response/answer-meter.ts';
import { usageJson } from '../response/usage.ts';
import { answerRefusal, respond } from './respond.ts';
import { bytesOf, LARGE_BYTES, sendLarge } from './send-large.ts';

/** Charges a whole answer, and only then sends it (DESIGN invariant 4). Its text is edited, not written anew. */
export async function deliverJson(run: Run, opened: OpenedJson): Promise<DeliveryOutcome> {
  const { order, exchange, attempts } = run;
  const provider = opened.target.provider.name;
  const endedMs = elapsedMs(run);
  const { askedMs, latencyMs } = opened;
  attempts.push({ provider, result: 'ok', durationMs: endedMs - askedMs, firstEventMs: latencyMs - askedMs });
  const generationTimeMs = endedMs - latencyMs;
  const meter = new AnswerMeter(order);
  const { answer } = opened;
  if (answer.measured) meter.takeMeasured(answer.measured);
  meter.take(answer.completion);
  const { usage, counted } = await meter.usage(order.chat, run.countTokens, exchange.gone.aborted);
  describeAnswer(order, meter, usage);
  const last = `,"usage":${usageJson(counted ? undefined : answer.usage, usage, run.account.costUsd(usage))}}`;
  // A large one is not copied.
  const body = typeof answer.open === 'string' ? [Buffer.from(answer.open + last)] : [answer.open, Buffer.from(last)];
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
    order.keepsAnswer ? wholeOf(body) : undefined,
  );
  if (refused) return answerRefusal(run, refused);
  const headers = {
    ...order.responseHeaders,
    'content-type': 'application/json',
    'x-generation-id': order.generationId,
  };
  const head = { status: 200, headers };
  if (bytesOf(body) <= LARGE_BYTES) await respond(run, { ...head, body: wholeOf(body) });
  else
    await sendLarge(exchange, head, body, opened.room, {
      isKept: order.keepsAnswer === true,
      timeoutMs: lastBytesMs(run),
    });
  const clientGone = exchange.gone.aborted;
  return { status: 200, attempts, timeToFirstEventMs: latencyMs, clientGone, usageMismatch: meter.mismatch };
}

function wholeOf(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
}

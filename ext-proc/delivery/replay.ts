import { type Refusal, refuse } from '../errors/refusal.ts';
import type { Exchange } from '../transport/exchange.ts';
import type { AnswerBudget } from './answer-budget.ts';
import { LARGE_BYTES } from './send-large.ts';
import { settlesWithin } from './wait.ts';

/** The answer of an earlier attempt with the same Idempotency-Key. */
export interface Replay {
  readonly generationId: string;
  readonly streamed: boolean;
  /** How large it is, or a little more. */
  readonly answerBytes: number;
  /** `undefined`: it is not there any more. */
  read(): Promise<Buffer | undefined>;
  /** How long the client may take to read it. */
  readonly timeoutMs: number;
}

/**
 * Gives the same bytes once more, with the same generation id (INTERFACE 4). A refusal: nothing was answered yet. It costs its client nothing,
 * and can be had again: clients that let large replays wait, unread, must not be what answers that are paid for find no room for.
 */
export async function replayAnswer(
  replay: Replay,
  exchange: Exchange,
  budget: AnswerBudget,
): Promise<Refusal | undefined> {
  const givenUp = new AbortController();
  const room = budget.open();
  try {
    if (!room.take(replay.answerBytes)) return refuse('no_capacity');
    room.yields(() => givenUp.abort());
    const body = await replay.read();
    if (body === undefined || givenUp.signal.aborted) return refuse('no_capacity');
    if (replay.streamed || body.length > LARGE_BYTES) await inPieces(replay, exchange, body, givenUp.signal);
    else await whole(replay, exchange, body);
    return undefined;
  } finally {
    room.release();
  }
}

async function whole(replay: Replay, exchange: Exchange, body: Buffer): Promise<void> {
  const headers = { 'content-type': 'application/json', ...headersOf(replay) };
  await settlesWithin(exchange.respond({ status: 200, headers, body }), replay.timeoutMs);
}

async function inPieces(replay: Replay, exchange: Exchange, body: Buffer, givenUp: AbortSignal): Promise<void> {
  const kind = replay.streamed
    ? { 'content-type': 'text/event-stream' }
    : { 'content-type': 'application/json', 'content-length': String(body.length) };
  // The transport bounds this wait.
  const client = await exchange.openStream({ status: 200, headers: { ...kind, ...headersOf(replay) } });
  if (client === undefined) return;
  if (!(await settlesWithin(client.end(body), replay.timeoutMs, givenUp))) client.abort();
}

function headersOf({ generationId }: Replay): Record<string, string> {
  return { 'x-generation-id': generationId, 'idempotent-replayed': 'true' };
}

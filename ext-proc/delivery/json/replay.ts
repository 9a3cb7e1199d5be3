import { type Refusal, refuse } from '#core/errors/refusal.ts';
import type { NextBytes, StoredResponse } from '../../billing/idempotency/stored-response.ts';
import type { SharedBudget } from '../../fairness/shared-budget.ts';
import { pause, settlesWithin } from '../../fairness/wait.ts';
import type { Exchange, ResponseStream } from '../../transport/exchange.ts';
import { LARGE_BYTES } from './send-large.ts';

/** Pause after the first piece: nothing more is read for a client that leaves on its first byte. */
const AFTER_FIRST_MS = 25;

/** Replay of the response of an earlier request with the same Idempotency-Key. */
export interface Replay {
  readonly generationId: string;
  readonly organizationId: string;
  readonly streamed: boolean;
  /** Headers in addition to those of every replay. */
  readonly headers: Readonly<Record<string, string>>;
  /** Opens the stored response. `undefined`: it no longer exists. */
  open(): Promise<StoredResponse | undefined>;
  /** How long the client may take to read it. */
  readonly timeoutMs: number;
}

export interface ReplayOutcome {
  /** False: nothing was sent; the caller sends the refusal. */
  readonly answered: boolean;
  /** Present if the replay broke off after it had begun. */
  readonly refusal?: Refusal;
}

const NO_ROOM: ReplayOutcome = { answered: false, refusal: refuse('no_capacity') };
const COMPLETE: ReplayOutcome = { answered: true };
const BROKEN_OFF: ReplayOutcome = { answered: true, refusal: refuse('no_capacity') };

/**
 * Sends the same bytes with the same generation id, and reads only as much as the client can take.
 * A replay costs nothing and can be repeated, so unread large replays must not use memory that paid
 * responses need. Rejects with StoreUnavailable before anything was sent.
 */
export async function replayResponse(replay: Replay, exchange: Exchange, budget: SharedBudget): Promise<ReplayOutcome> {
  const givenUp = new AbortController();
  const reservation = budget.open(replay.organizationId);
  try {
    const stored = await replay.open();
    reservation.makeEvictable({ evict: () => givenUp.abort() });
    if (stored === undefined || !reservation.take(stored.memoryBytes)) return NO_ROOM;
    // The first bytes show damage while a refusal is still possible.
    const first = await stored.next();
    if (typeof first === 'string' || givenUp.signal.aborted) return NO_ROOM;
    if (!replay.streamed && stored.bytes <= LARGE_BYTES) return await whole(replay, stored, first, exchange);
    return await inPieces(replay, stored, first, exchange, givenUp.signal);
  } finally {
    reservation.release();
  }
}

async function whole(
  replay: Replay,
  stored: StoredResponse,
  first: Buffer,
  exchange: Exchange,
): Promise<ReplayOutcome> {
  const pieces = [first];
  for (;;) {
    const piece = await stored.next();
    if (piece === 'gone') return NO_ROOM;
    if (piece === 'end') break;
    pieces.push(piece);
  }
  const headers = { 'content-type': 'application/json', ...headersOf(replay) };
  await settlesWithin(exchange.respond({ status: 200, headers, body: Buffer.concat(pieces) }), replay.timeoutMs);
  return COMPLETE;
}

async function inPieces(
  replay: Replay,
  stored: StoredResponse,
  first: Buffer,
  exchange: Exchange,
  givenUp: AbortSignal,
): Promise<ReplayOutcome> {
  const kind = replay.streamed
    ? { 'content-type': 'text/event-stream' }
    : { 'content-type': 'application/json', 'content-length': String(stored.bytes) };
  // The transport bounds this wait.
  const client = await exchange.openStream({ status: 200, headers: { ...kind, ...headersOf(replay) } });
  if (client === undefined) return COMPLETE;
  let isOver = false;
  const mayGoOn = () => !isOver && !exchange.gone.aborted;
  const sending = send(client, stored, first, mayGoOn, exchange.gone);
  try {
    if (!(await settlesWithin(sending, replay.timeoutMs, givenUp))) {
      client.abort();
      return COMPLETE;
    }
    return await sending;
  } catch (error) {
    // An incomplete replay must not look complete.
    client.abort();
    throw error;
  } finally {
    isOver = true;
  }
}

async function send(
  client: ResponseStream,
  stored: StoredResponse,
  first: Buffer,
  mayGoOn: () => boolean,
  gone: AbortSignal,
): Promise<ReplayOutcome> {
  for (let piece: NextBytes = first; ; piece = await stored.next()) {
    if (piece === 'gone') {
      client.abort();
      return BROKEN_OFF;
    }
    if (piece === 'end') {
      await client.end();
      return COMPLETE;
    }
    if (!client.write(piece)) await client.drained();
    if (piece === first) await pause(AFTER_FIRST_MS, [gone]);
    if (!mayGoOn()) return COMPLETE;
  }
}

function headersOf({ generationId, headers }: Replay): Record<string, string> {
  return { ...headers, 'x-generation-id': generationId, 'idempotent-replayed': 'true' };
}

import { bytesOf } from '../../fairness/bytes-of.ts';
import type { Evictable, MemoryReservation } from '../../fairness/shared-budget.ts';
import { settlesWithin } from '../../fairness/wait.ts';
import type { Exchange, ResponseHead, ResponseStream } from '../../transport/exchange.ts';

/** Larger responses are written with back-pressure, which detects clients that do not read. */
export const LARGE_BYTES = 256 * 1024;

/** A response becomes evictable when the client has not read a piece for this long. */
const STALLED_MS = 10_000;

export interface Sending {
  /** True with an Idempotency-Key: a retry gets the response again. */
  readonly isKept: boolean;
  /** Time for the whole response. */
  readonly timeoutMs: number;
  readonly stalledMs?: number;
}

/**
 * Sends a charged response to a client that may be slow. Its memory is evictable: at once if the
 * response is stored, otherwise while the client does not read. Without that, three clients that
 * leave 50 MB each unread would cause `no_capacity` for others until `timeouts.total`.
 */
export async function sendLarge(
  exchange: Pick<Exchange, 'openStream'>,
  { status, headers }: ResponseHead,
  body: readonly Buffer[],
  reservation: MemoryReservation,
  sending: Sending,
): Promise<void> {
  let stream: ResponseStream | undefined;
  const unread: Unread = {
    isGivenUp: false,
    evict() {
      unread.isGivenUp = true;
      stream?.abort();
    },
  };
  if (sending.isKept) reservation.makeEvictable(unread);
  // The transport bounds this wait.
  stream = await exchange.openStream({ status, headers: { ...headers, 'content-length': String(bytesOf(body)) } });
  if (stream === undefined) return;
  const isSent =
    !unread.isGivenUp &&
    (await settlesWithin(sendPieces(stream, body, reservation, unread, sending), sending.timeoutMs));
  if (!isSent) stream.abort();
}

interface Unread extends Evictable {
  isGivenUp: boolean;
}

async function sendPieces(
  stream: ResponseStream,
  body: readonly Buffer[],
  reservation: MemoryReservation,
  unread: Unread,
  { isKept, stalledMs = STALLED_MS }: Sending,
): Promise<void> {
  for (const piece of body.flatMap(slices)) {
    if (unread.isGivenUp) break;
    if (stream.write(piece)) continue;
    const drained = stream.drained();
    const goesOn = isKept || (await settlesWithin(drained, stalledMs));
    if (!goesOn) reservation.makeEvictable(unread);
    await drained;
    // If its organization has pinned its share already, the response stays evictable.
    if (!goesOn) reservation.pin();
  }
  await stream.end();
}

function slices(piece: Buffer): Buffer[] {
  const count = Math.ceil(piece.length / LARGE_BYTES);
  return Array.from({ length: count }, (_, at) => piece.subarray(at * LARGE_BYTES, (at + 1) * LARGE_BYTES));
}

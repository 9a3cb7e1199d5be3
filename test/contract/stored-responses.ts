import type { Claim } from '#database/idempotency/idempotency-store.ts';
import type { Postgres } from '#database/open.ts';
import type { FinishedClaim } from '#ext-proc/billing/idempotency/claims.ts';

/** The sealed response that is stored, or `undefined`. */
export async function sealedAnswer(
  { idempotency }: Pick<Postgres, 'idempotency'>,
  claim: Claim,
): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const step = 4 * 1024 * 1024;
  for (;;) {
    const piece = await idempotency.piece(claim, pieces.length * step, step);
    if (piece === undefined) return undefined;
    pieces.push(piece);
    if (piece.length < step) return Buffer.concat(pieces);
  }
}

/** The response of a replay, or `undefined` if it was deleted. */
export async function replayedAnswer(finished: FinishedClaim): Promise<Buffer | undefined> {
  const stored = await finished.open();
  if (stored === undefined) return undefined;
  const pieces: Buffer[] = [];
  for (let piece = await stored.next(); piece !== 'end'; piece = await stored.next()) {
    if (piece === 'gone') return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

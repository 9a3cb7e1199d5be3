import { type Refusal, refuse } from '#core/errors/refusal.ts';
import type { SharedBudget } from '../../fairness/shared-budget.ts';
import { settlesWithin } from '../../fairness/wait.ts';
import type { Exchange, WholeResponse } from '../../transport/exchange.ts';
import { LARGE_BYTES, sendLarge } from './send-large.ts';

/** Response to a read. It costs nothing and can be read again. */
export interface ReadResponse extends WholeResponse {
  readonly organizationId: string;
  /** How long the client may take to read it. */
  readonly timeoutMs: number;
}

/** Sends the response of a read; a large one is evictable. Returns a refusal if memory is short. */
export async function sendRead(
  { organizationId, timeoutMs, ...response }: ReadResponse,
  exchange: Exchange,
  budget: SharedBudget,
): Promise<Refusal | undefined> {
  if (response.body.length <= LARGE_BYTES) {
    await settlesWithin(exchange.respond(response), timeoutMs);
    return undefined;
  }
  const reservation = budget.open(organizationId);
  // Evictable from the beginning: paid responses have priority.
  reservation.makeEvictable({ evict: () => undefined });
  try {
    if (!reservation.take(response.body.length)) return refuse('no_capacity');
    await sendLarge(exchange, response, [response.body], reservation, { isKept: true, timeoutMs });
    return undefined;
  } finally {
    reservation.release();
  }
}

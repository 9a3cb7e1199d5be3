import { Turns } from '#core/fairness/turns.ts';
import type { IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { Ledger } from '#database/ledger/ledger.ts';

/** Customers' reads of the ledger. */
export type LedgerReads = Pick<Ledger, 'findGeneration' | 'credits' | 'usage'>;

export interface ReadTurns {
  readonly ledger: Turns;
  /** Sums of usage, which take longer. Each organization has one at a time, on half of the pool. */
  readonly sums: Turns;
  /** Sums by user, which take longest. They leave one connection to the other sums. */
  readonly sumsByUser: Turns;
  /** Claims of idempotency keys, and pieces of responses that are replayed. */
  readonly idempotency: Turns;
}

/** Bound on an organization's waiting reads: a thousand keys may have 600 reads a minute each. */
const EACH_WAITING = 256;
/** Bound on waiting claims: an organization may have thousands of concurrent requests. */
const CLAIMS_WAITING = 8_192;
const WAIT_MS = 2_000;

export function createReadTurns(pool: { readonly administration: number; readonly idempotency: number }): ReadTurns {
  // One connection is left for statements of the process itself.
  const reads = Math.max(1, pool.administration - 1);
  return {
    ledger: turnsOf(reads, halfOf(reads), EACH_WAITING),
    sums: turnsOf(halfOf(reads), 1, EACH_WAITING),
    sumsByUser: turnsOf(Math.max(1, halfOf(reads) - 1), 1, EACH_WAITING),
    idempotency: turnsOf(pool.idempotency, halfOf(pool.idempotency), CLAIMS_WAITING),
  };
}

function turnsOf(atOnce: number, each: number, waiting: number): Turns {
  return new Turns({ atOnce, perOrganization: { atOnce: each, waiting }, waitMs: WAIT_MS });
}

function halfOf(connections: number): number {
  return Math.ceil(connections / 2);
}

/** Lets organizations' reads take turns. Rejects with StoreUnavailable if no turn comes in time. */
export function ledgerInTurns(ledger: LedgerReads, turns: ReadTurns): LedgerReads {
  const usage: LedgerReads['usage'] = (query, onPage) =>
    turns.sums.run(query, () => turns.ledger.run(query, () => ledger.usage(query, onPage)));
  return {
    findGeneration: (organizationId, generationId) =>
      turns.ledger.run({ organizationId }, () => ledger.findGeneration(organizationId, generationId)),
    credits: (organizationId) => turns.ledger.run({ organizationId }, () => ledger.credits(organizationId)),
    usage: (query, onPage) =>
      query.groupBy.has('user') ? turns.sumsByUser.run(query, () => usage(query, onPage)) : usage(query, onPage),
  };
}

/** Lets organizations' claims of idempotency keys and replays take turns in the same way. */
export function idempotencyInTurns(store: IdempotencyStore, { idempotency }: ReadTurns): IdempotencyStore {
  return {
    ...store,
    claim: (request) => idempotency.run(request, () => store.claim(request)),
    piece: (claim, from, bytes) => idempotency.run(claim, () => store.piece(claim, from, bytes)),
  };
}

import type { IdempotencyStore } from '../../database/idempotency/idempotency-store.ts';
import type { Ledger } from '../../database/ledger/ledger.ts';
import { createDatabaseTurns, type DatabaseTurns } from './database-turns.ts';

/** Customers' reads of the ledger. */
export type LedgerReads = Pick<Ledger, 'findGeneration' | 'credits' | 'usage'>;

export interface ReadTurns {
  readonly ledger: DatabaseTurns;
  /**
   * Sums of usage, which take longer than other reads: one of an organization, and on half of the
   * connections only.
   */
  readonly sums: DatabaseTurns;
  /** Claims of Idempotency-Keys, and pieces of answers that are replayed. */
  readonly idempotency: DatabaseTurns;
}

/**
 * A key has at most 600 reads in a minute by default, an organization a thousand keys: what waits
 * longer than this would not be waited for.
 */
const EACH_WAITING = 256;
/**
 * Each is a request that would be admitted, whose organization may have a concurrency of thousands.
 */
const CLAIMS_WAITING = 8_192;
const WAIT_MS = 2_000;

export function createReadTurns(pool: { readonly administration: number; readonly idempotency: number }): ReadTurns {
  // One connection is left for what the process itself does there.
  const reads = Math.max(1, pool.administration - 1);
  return {
    ledger: createDatabaseTurns({
      atOnce: reads,
      eachAtOnce: halfOf(reads),
      eachWaiting: EACH_WAITING,
      waitMs: WAIT_MS,
    }),
    sums: createDatabaseTurns({ atOnce: halfOf(reads), eachAtOnce: 1, eachWaiting: EACH_WAITING, waitMs: WAIT_MS }),
    idempotency: createDatabaseTurns({
      atOnce: pool.idempotency,
      eachAtOnce: halfOf(pool.idempotency),
      eachWaiting: CLAIMS_WAITING,
      waitMs: WAIT_MS,
    }),
  };
}

function halfOf(connections: number): number {
  return Math.ceil(connections / 2);
}

/**
 * The reads of organizations take turns. They reject as the ledger's, and with StoreUnavailable
 * when a turn does not come.
 */
export function ledgerInTurns(ledger: LedgerReads, turns: ReadTurns): LedgerReads {
  return {
    findGeneration: (organizationId, generationId) =>
      turns.ledger.run(organizationId, () => ledger.findGeneration(organizationId, generationId)),
    credits: (organizationId) => turns.ledger.run(organizationId, () => ledger.credits(organizationId)),
    usage: (query, onPage) =>
      turns.sums.run(query.organizationId, () =>
        turns.ledger.run(query.organizationId, () => ledger.usage(query, onPage)),
      ),
  };
}

/** The same for what requests with an Idempotency-Key ask. */
export function idempotencyInTurns(store: IdempotencyStore, { idempotency }: ReadTurns): IdempotencyStore {
  return {
    ...store,
    claim: (request) => idempotency.run(request.organizationId, () => store.claim(request)),
    piece: (claim, from, bytes) => idempotency.run(claim.organizationId, () => store.piece(claim, from, bytes)),
  };
}

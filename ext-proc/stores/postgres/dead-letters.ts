import type pg from 'pg';
import type { ClaimedSettlement, Settlement } from '../ledger.ts';
import { encodeForOperator } from '../settlement-json.ts';
import { run, type Statement } from './connection-pool.ts';

const LONGEST_REASON = 1_000;

const ADD: Statement = {
  name: 'add_dead_letter',
  text: `insert into dead_letters (generation_id, organization_id, reason, settlement) values ($1, $2, $3, $4) on conflict do nothing`,
};

/**
 * Keeps a charge that PostgreSQL refused for what it is, so that it is neither lost nor in the way of others (DESIGN 3). Rejects with
 * StoreUnavailable: then the charge is tried again, refused again, and kept then.
 */
export async function addDeadLetter(
  pool: pg.Pool,
  settlement: Settlement | ClaimedSettlement,
  error: unknown,
): Promise<void> {
  const { generationId, organizationId } = settlement;
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_REASON);
  await run(pool, ADD, [generationId, organizationId, reason, encodeForOperator(settlement)]);
}

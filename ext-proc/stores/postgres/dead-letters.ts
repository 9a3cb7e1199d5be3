import type pg from 'pg';
import type { ClaimedSettlement, Settlement } from '../ledger.ts';
import { encodeForOperator } from '../settlement-json.ts';
import { run, type Statement } from './connection-pool.ts';

const LONGEST_REASON = 1_000;

const ADD: Statement = {
  name: 'add_dead_letter',
  text: `insert into dead_letters (generation_id, organization_id, reason, settlement) values ($1, $2, $3, $4) on conflict do nothing`,
};

export async function addDeadLetter(
  pool: pg.Pool,
  settlement: Settlement | ClaimedSettlement,
  why: unknown,
): Promise<void> {
  const { generationId, organizationId } = settlement;
  const reason = causesOf(why).join(': ').slice(0, LONGEST_REASON);
  await run(pool, ADD, [generationId, organizationId, reason, encodeForOperator(settlement)]);
}

/** The reason itself is the innermost. */
function causesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return error === undefined ? [] : [String(error)];
  return [error.message, ...causesOf(error.cause)];
}

import type pg from 'pg';
import { recordOf } from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
import { type PatientSession, patiently } from '../connection/patient-session.ts';
import type { Checkpoint } from './checkpoints.ts';

export const CHECKPOINT_COLUMNS = `c.organization_id as "organizationId", c.sequence::float8 as sequence, c.balance_nano_usd as "balanceNanoUsd",
  c.total_credits_nano_usd as "totalCreditsNanoUsd", c.previous_sequence::float8 as "previousSequence", c.hash,
  ${nearestMilliseconds('c.created_at')} as "createdAtMs", c.public_key as "publicKey", c.signature`;

export function checkpointOf(row: object): Checkpoint {
  return recordOf(row, ['balanceNanoUsd', 'totalCreditsNanoUsd']);
}

/** Oldest first. `after` is exclusive. */
export async function checkpointsBetween(
  session: PatientSession,
  organizationId: string,
  after: number,
  upTo: number,
): Promise<readonly Checkpoint[]> {
  const rows = await session.read(
    `select ${CHECKPOINT_COLUMNS} from ledger_checkpoints c
     where c.organization_id = $1 and c.sequence > $2 and c.sequence <= $3 order by c.sequence`,
    [organizationId, after, upTo],
  );
  return rows.map(checkpointOf);
}

/** Returns checkpoints made at that time or later, oldest first. */
export async function listCheckpoints(pool: pg.Pool, sinceMs: number): Promise<readonly Checkpoint[]> {
  return patiently(pool, async (session) => {
    const rows = await session.read(
      `select ${CHECKPOINT_COLUMNS} from ledger_checkpoints c where c.created_at >= to_timestamp($1::float8 / 1000)
       order by c.created_at, c.organization_id, c.sequence`,
      [sinceMs],
    );
    return rows.map(checkpointOf);
  });
}

import type pg from 'pg';
import { type PatientSession, patiently } from '../connection/patient-session.ts';
import type { Checkpoint } from './checkpoints.ts';

export interface CheckpointRow {
  readonly organization_id: string;
  readonly sequence: number;
  readonly balance: string;
  readonly credits: string;
  readonly previous_sequence: number;
  readonly hash: Buffer;
  readonly created_ms: number;
  readonly public_key: Buffer;
  readonly signature: Buffer;
}

export const CHECKPOINT_COLUMNS = `c.organization_id, c.sequence::float8 as sequence, c.balance_nano_usd::text as balance,
  c.total_credits_nano_usd::text as credits, c.previous_sequence::float8 as previous_sequence, c.hash,
  (extract(epoch from c.created_at) * 1000)::float8 as created_ms, c.public_key, c.signature`;

export function checkpointOf(row: CheckpointRow): Checkpoint {
  return {
    organizationId: row.organization_id,
    sequence: row.sequence,
    balanceNanoUsd: BigInt(row.balance),
    totalCreditsNanoUsd: BigInt(row.credits),
    previousSequence: row.previous_sequence,
    hash: row.hash,
    createdAtMs: Math.round(row.created_ms),
    publicKey: row.public_key,
    signature: row.signature,
  };
}

/** Oldest first; the first sequence is exclusive. */
export async function checkpointsBetween(
  session: PatientSession,
  organizationId: string,
  after: number,
  upTo: number,
): Promise<readonly Checkpoint[]> {
  const rows = await session.read<CheckpointRow>(
    `select ${CHECKPOINT_COLUMNS} from ledger_checkpoints c
     where c.organization_id = $1 and c.sequence > $2 and c.sequence <= $3 order by c.sequence`,
    [organizationId, after, upTo],
  );
  return rows.map(checkpointOf);
}

/** Made at that moment or later, oldest first. */
export async function listCheckpoints(pool: pg.Pool, sinceMs: number): Promise<readonly Checkpoint[]> {
  return patiently(pool, async (session) => {
    const rows = await session.read<CheckpointRow>(
      `select ${CHECKPOINT_COLUMNS} from ledger_checkpoints c where c.created_at >= to_timestamp($1::float8 / 1000)
       order by c.created_at, c.organization_id, c.sequence`,
      [sinceMs],
    );
    return rows.map(checkpointOf);
  });
}

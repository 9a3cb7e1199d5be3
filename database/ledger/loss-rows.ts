import type pg from 'pg';
import type { NanoUsd } from '../../core/money.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import type { Loss, LossReason, LossRecord, OnLoss } from '../costs/losses.ts';

const ADD: Statement = {
  name: 'add_loss',
  text: `insert into losses (generation_id, organization_id, reason, amount_nano_usd, model, provider) values ($1, $2, $3, $4, $5, $6)
    on conflict do nothing returning reason`,
};
const LIST: Statement = {
  name: 'list_losses',
  text: `select generation_id, organization_id, reason, amount_nano_usd, (extract(epoch from created_at) * 1000)::bigint as created_ms
    from losses where created_at >= to_timestamp($1::double precision / 1000) order by created_at, generation_id, reason`,
};

/** Records a loss, unless the generation has one for that reason. */
export async function addLoss(on: pg.Pool | pg.PoolClient, loss: Loss, onLoss?: OnLoss): Promise<void> {
  const { generationId, organizationId, reason, amountNanoUsd, model, provider } = loss;
  const values = [generationId, organizationId, reason, amountNanoUsd, model, provider];
  const added = await run<{ reason: string }>(on, ADD, values);
  if (added.length > 0) onLoss?.(reason, amountNanoUsd);
}

/** Oldest first. */
export async function listLosses(pool: pg.Pool, sinceMs: number): Promise<readonly LossRecord[]> {
  const rows = await run<
    Record<'generation_id' | 'organization_id' | 'amount_nano_usd' | 'created_ms', string> & { reason: LossReason }
  >(pool, LIST, [sinceMs]);
  return rows.map((row) => ({
    generationId: row.generation_id,
    organizationId: row.organization_id,
    reason: row.reason,
    amountNanoUsd: BigInt(row.amount_nano_usd) satisfies NanoUsd,
    createdAtMs: Number(row.created_ms),
  }));
}

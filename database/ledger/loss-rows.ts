import type pg from 'pg';
import { records, run, sql } from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
import type { Loss, LossReason, LossRecord, OnLoss } from '../costs/losses.ts';

const ADD = sql('add_losses')`
  insert into losses (generation_id, organization_id, reason, amount_nano_usd, model, provider)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])
    on conflict do nothing returning reason, amount_nano_usd`;
const LIST = sql('list_losses')`
  select generation_id as "generationId", organization_id as "organizationId", reason, amount_nano_usd as "amountNanoUsd",
      ${nearestMilliseconds('created_at')} as "createdAtMs"
    from losses where created_at >= to_timestamp($1::double precision / 1000) order by created_at, generation_id, reason`;

/** Records losses, each once for its generation and reason. Returns the new ones. */
export async function addLosses(
  on: pg.Pool | pg.PoolClient,
  losses: readonly Loss[],
): Promise<readonly (readonly [reason: LossReason, amountNanoUsd: string])[]> {
  const column = (name: keyof Loss) => losses.map((loss) => String(loss[name]));
  const values = (['generationId', 'organizationId', 'reason', 'amountNanoUsd', 'model', 'provider'] as const).map(
    column,
  );
  const added = await run<{ reason: LossReason; amount_nano_usd: string }>(on, ADD, values);
  return added.map(({ reason, amount_nano_usd: amount }) => [reason, amount]);
}

/** Reports every new loss. Called after the commit. */
export function tellLosses(added: Awaited<ReturnType<typeof addLosses>>, onLoss: OnLoss | undefined): void {
  for (const [reason, amount] of added) onLoss?.(reason, BigInt(amount));
}

/** Oldest first. */
export async function listLosses(pool: pg.Pool, sinceMs: number): Promise<readonly LossRecord[]> {
  return records(pool, LIST, [sinceMs], ['amountNanoUsd']);
}

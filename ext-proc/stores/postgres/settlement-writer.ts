import type pg from 'pg';
import type { AccountSnapshot } from '../../domain/principal.ts';
import type { Settlement } from '../ledger.ts';
import { createBatching, type Outcome } from './batching.ts';
import { run, type Statement, type StoreLog } from './connection-pool.ts';
import { SETTLEMENT_PARAMETERS, settlementColumns } from './settlement-columns.ts';
import { isRefusedRow, isRollback } from './unavailable.ts';

/**
 * One commit at a time: what finishes meanwhile shares the next, so that commits per second stay what the disk can do. A commit costs about
 * 690 us of CPU alone and 66 us as one of 32, of both processes together (measured), hence the pace.
 */
const BOUNDS = { maxBatch: 500, maxInFlight: 1, paceMs: 3, maxWaiting: 20_000, waitMs: 10_000 };
/** Batches lock in organization order and cannot deadlock each other; an operator's session could. */
const MAX_TRIES = 3;

const SETTLE: Statement = {
  name: 'settle_generations',
  text: `select * from settle_generations(${SETTLEMENT_PARAMETERS})`,
};

interface SettledRow {
  readonly generation_id: string;
  readonly epoch: string;
  readonly sequence: string;
  readonly balance_nano_usd: string;
  readonly organization_spent_nano_usd: string;
  readonly key_spent_nano_usd: string;
}

type Settled = Outcome<AccountSnapshot>;

/** Group commit (DESIGN 3). */
export function createSettlementWriter(
  pool: pg.Pool,
  log: StoreLog,
): (settlement: Settlement) => Promise<AccountSnapshot> {
  return createBatching<Settlement, AccountSnapshot>(BOUNDS, (batch) => commit(pool, log, batch));
}

/** A row that PostgreSQL refuses is halved out, so that it fails alone; its neighbours commit in two or more transactions instead of one. */
async function commit(pool: pg.Pool, log: StoreLog, batch: readonly Settlement[]): Promise<readonly Settled[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await commitOnce(pool, batch);
    } catch (error) {
      if (isRollback(error) && tries < MAX_TRIES) continue;
      if (isRefusedRow(error)) return halve(pool, log, batch, error);
      return batch.map(() => ({ ok: false, error }));
    }
  }
}

async function halve(
  pool: pg.Pool,
  log: StoreLog,
  batch: readonly Settlement[],
  error: unknown,
): Promise<readonly Settled[]> {
  const [only] = batch;
  if (batch.length === 1 && only) {
    const refused = new Error(`PostgreSQL refused the charge of ${only.generationId}`, { cause: error });
    log.error({ generationId: only.generationId, error: String(error) }, 'a charge was refused');
    return [{ ok: false, error: refused }];
  }
  const middle = Math.ceil(batch.length / 2);
  const first = await commit(pool, log, batch.slice(0, middle));
  return [...first, ...(await commit(pool, log, batch.slice(middle)))];
}

async function commitOnce(pool: pg.Pool, batch: readonly Settlement[]): Promise<readonly Settled[]> {
  const rows = await run<SettledRow>(pool, SETTLE, settlementColumns(batch));
  const settled = new Map(rows.map((row) => [row.generation_id, row]));
  return batch.map((settlement) => {
    const row = settled.get(settlement.generationId);
    if (!row) return { ok: false, error: new Error(`no account came back for ${settlement.generationId}`) };
    return { ok: true, value: snapshotOf(row, settlement.day) };
  });
}

function snapshotOf(row: SettledRow, day: number): AccountSnapshot {
  const sequence = Number(row.sequence);
  return {
    ledgerEpoch: row.epoch,
    organization: {
      sequence,
      balanceNanoUsd: BigInt(row.balance_nano_usd),
      day,
      spentNanoUsd: BigInt(row.organization_spent_nano_usd),
    },
    key: { sequence, day, spentNanoUsd: BigInt(row.key_spent_nano_usd) },
  };
}

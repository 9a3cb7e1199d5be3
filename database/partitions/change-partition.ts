import pg from 'pg';
import { PARTITION_LOCK } from '../connection/advisory-locks.ts';
import type { StoreLog } from '../connection/connection-pool.ts';
import { asStoreError } from '../connection/unavailable.ts';

export interface PartitionChange {
  /** SQL function that makes or drops the partition of a day or month. */
  readonly call: string;
  /** Its argument, for example `2026-11-01`. */
  readonly day: string;
  readonly partition: string;
  /** Logged if PostgreSQL refuses the change. */
  readonly refused: string;
}

/**
 * Makes or drops a partition. False if PostgreSQL refuses it now: the next check tries again.
 *
 * Changes take turns. They lock the whole table briefly, and time out before other statements queue
 * behind them (make_partition.sql). Processes that start together would else create the same table,
 * which PostgreSQL logs as an error.
 */
export async function changePartition(pool: pg.Pool, change: PartitionChange, log: StoreLog): Promise<boolean> {
  const turn = `with turn as materialized (select pg_advisory_xact_lock(${PARTITION_LOCK}))`;
  try {
    await pool.query(`${turn} select ${change.call}($1) from turn`, [change.day]);
    return true;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw asStoreError(error);
    log.warn({ partition: change.partition, code: error.code }, change.refused);
    return false;
  }
}

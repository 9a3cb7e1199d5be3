import type { BatchFigures } from '#core/batching/joined-calls.ts';

/** Figures of the database's work, for metrics. No decision depends on them. */

export interface DatabaseBatch extends BatchFigures {
  readonly batch: BatchName;
}

export type OnBatch = (figures: DatabaseBatch) => void;

export type BatchName = 'key_lookup' | 'settlement' | 'claimed_settlement';

/** Options of all batches that a process sends. */
export interface BatchOptions {
  /** True if other processes use the database as well. */
  readonly severalProcesses?: boolean;
  readonly onBatch?: OnBatch;
}

/** Current connections of one pool. */
export interface PoolFigures {
  readonly pool: 'requests' | 'others' | 'idempotency';
  readonly limit: number;
  readonly open: number;
  readonly idle: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
}

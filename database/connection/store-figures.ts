/** What stores tell of their own work, for metrics: nothing is decided by it. */

/** Calls that shared one round trip. */
export interface BatchFigures {
  readonly batch: BatchName;
  readonly items: number;
  /** How long its first item waited until it was sent. */
  readonly waitedMs: number;
  readonly tookMs: number;
  /** No item of it succeeded. */
  readonly failed: boolean;
}

/** The call is on its way, with this many that share its round trip, itself among them. */
export type OnSent = (items: number) => void;

export type OnBatch = (figures: BatchFigures) => void;

export type BatchName = 'key_lookup' | 'settlement' | 'claimed_settlement';

/** The connections of one pool now. */
export interface PoolFigures {
  readonly pool: 'requests' | 'others' | 'idempotency';
  readonly limit: number;
  readonly open: number;
  readonly idle: number;
  /** Statements that wait for one. */
  readonly waiting: number;
}

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { BatchFigures, PoolFigures } from '#database/connection/store-figures.ts';
import type { Refused } from '../limits/limit-store.ts';

export interface StoreMetrics {
  databaseBatch(batch: BatchFigures): void;
  callerFound(from: 'memory' | 'database'): void;
  limitStoreCall(operation: LimitStoreOperation, tookMs: number, failed: boolean): void;
  admissionRefused(rule: RefusingRule): void;
  /** Registers the gauges of the connections, read at each scrape. */
  watchDatabase(pools: () => readonly PoolFigures[]): void;
  /** Size of the audit log with its indexes, all months together. */
  auditLogMeasured(bytes: number): void;
  requestLogWritten(rows: number): void;
  requestLogDropped(rows: number): void;
  /**
   * Registers the gauges of rows that wait, and of the time since one was written, read at each
   * scrape.
   */
  watchRequestLog(waiting: () => number, stalledMs: () => number): void;
}

/**
 * `reads`: `read_rpm`, of reads and replays. `refused`: `refused_rpm`. `uploads`: unfinished ones.
 */
export type RefusingRule = Refused['rule'] | 'reads' | 'refused' | 'uploads';

export type LimitStoreOperation = 'admit' | 'release' | 'renew' | 'held' | 'take_read' | 'count_refused';

const OPERATIONS: readonly LimitStoreOperation[] = ['admit', 'release', 'renew', 'held', 'take_read', 'count_refused'];

/** From a script in memory to the time-out of a store. */
const CALL_BUCKETS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 500];

export function createStoreMetrics(registers: Registry[]): StoreMetrics {
  return {
    databaseBatch: batchMetrics(registers),
    callerFound: callerMetrics(registers),
    limitStoreCall: limitStoreMetrics(registers),
    admissionRefused: refusalMetrics(registers),
    watchDatabase: (pools) => addPoolGauges(registers, pools),
    auditLogMeasured: auditLogMetrics(registers),
    ...requestLogMetrics(registers),
  };
}

function batchMetrics(registers: Registry[]): StoreMetrics['databaseBatch'] {
  const labelNames = ['batch'];
  const items = new Histogram({
    name: 'gateway_database_batch_items',
    help: 'Calls in one round trip to PostgreSQL, by batch: key_lookup, settlement, claimed_settlement (with an Idempotency-Key).',
    labelNames,
    buckets: BATCH_BUCKETS,
    registers,
  });
  const wait = new Histogram({
    name: 'gateway_database_batch_wait_seconds',
    help: 'Time that the first call of a batch waited until the batch was sent.',
    labelNames,
    buckets: CALL_BUCKETS_S,
    registers,
  });
  const duration = new Histogram({
    name: 'gateway_database_batch_duration_seconds',
    help: 'From sending a batch to its reply; for a settlement, to its commit.',
    labelNames,
    buckets: CALL_BUCKETS_S,
    registers,
  });
  const failures = new Counter({
    name: 'gateway_database_batch_failures_total',
    help: 'Batches that failed whole.',
    labelNames,
    registers,
  });
  for (const batch of ['key_lookup', 'settlement', 'claimed_settlement']) failures.inc({ batch }, 0);
  return (figures) => {
    const { batch } = figures;
    items.observe({ batch }, figures.items);
    wait.observe({ batch }, figures.waitedMs / 1000);
    duration.observe({ batch }, figures.tookMs / 1000);
    if (figures.failed) failures.inc({ batch });
  };
}

function callerMetrics(registers: Registry[]): StoreMetrics['callerFound'] {
  const found = new Counter({
    name: 'gateway_callers_total',
    help: 'Callers of requests, by where they were looked for: memory (kept since an earlier request), database.',
    labelNames: ['from'],
    registers,
  });
  for (const from of ['memory', 'database']) found.inc({ from }, 0);
  return (from) => found.inc({ from });
}

function limitStoreMetrics(registers: Registry[]): StoreMetrics['limitStoreCall'] {
  const labelNames = ['operation'];
  const duration = new Histogram({
    name: 'gateway_limit_store_duration_seconds',
    help: `Calls of the limit store (Redis, or the memory of the process), by operation: ${OPERATIONS.join(', ')}.`,
    labelNames,
    buckets: CALL_BUCKETS_S,
    registers,
  });
  const failures = new Counter({
    name: 'gateway_limit_store_failures_total',
    help: 'Failed calls of the limit store. The completion was refused with no_capacity.',
    labelNames,
    registers,
  });
  for (const operation of OPERATIONS) failures.inc({ operation }, 0);
  return (operation, tookMs, failed) => {
    duration.observe({ operation }, tookMs / 1000);
    if (failed) failures.inc({ operation });
  };
}

const RULES: readonly RefusingRule[] = [
  'concurrency',
  'requests',
  'tokens',
  'daily_budget',
  'monthly_budget',
  'lifetime_budget',
  'balance',
  'reads',
  'refused',
  'uploads',
];

function refusalMetrics(registers: Registry[]): StoreMetrics['admissionRefused'] {
  const refused = new Counter({
    name: 'gateway_admissions_refused_total',
    help: `Requests that a limit refused, by rule: ${RULES.join(', ')} (the last three: read_rpm, refused_rpm, and unfinished uploads at once).`,
    labelNames: ['rule'],
    registers,
  });
  for (const rule of RULES) refused.inc({ rule }, 0);
  return (rule) => refused.inc({ rule });
}

function addPoolGauges(registers: Registry[], pools: () => readonly PoolFigures[]): void {
  new Gauge({
    name: 'gateway_database_connections',
    help: 'Connections to PostgreSQL, by pool and state (busy, idle).',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const { pool, open, idle } of pools()) {
        this.set({ pool, state: 'busy' }, open - idle);
        this.set({ pool, state: 'idle' }, idle);
      }
    },
  });
  new Gauge({
    name: 'gateway_database_connections_limit',
    help: 'Largest number of connections of a pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const { pool, limit } of pools()) this.set({ pool }, limit);
    },
  });
  new Gauge({
    name: 'gateway_database_statements_waiting',
    help: 'Statements waiting for a connection of their pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const { pool, waiting } of pools()) this.set({ pool }, waiting);
    },
  });
}

function auditLogMetrics(registers: Registry[]): StoreMetrics['auditLogMeasured'] {
  const size = new Gauge({
    name: 'gateway_audit_log_bytes',
    help: 'Size of the audit log in the database, with indexes and all months. The same from every process.',
    registers,
  });
  // No series until the first measurement: a size of 0 would look like growth afterwards.
  size.remove();
  return (bytes) => size.set(bytes);
}

type RequestLogMetrics = Pick<StoreMetrics, 'requestLogWritten' | 'requestLogDropped' | 'watchRequestLog'>;

function requestLogMetrics(registers: Registry[]): RequestLogMetrics {
  const written = new Counter({
    name: 'gateway_request_log_written_total',
    help: 'Rows written to the request log.',
    registers,
  });
  const dropped = new Counter({
    name: 'gateway_request_log_dropped_total',
    help: 'Rows lost from the request log: the queue was full, or PostgreSQL refused them.',
    registers,
  });
  return {
    requestLogWritten: (rows) => written.inc(rows),
    requestLogDropped: (rows) => dropped.inc(rows),
    watchRequestLog(waiting, stalledMs) {
      new Gauge({
        name: 'gateway_request_log_waiting',
        help: 'Rows waiting to be written to the request log.',
        registers,
        collect() {
          this.set(waiting());
        },
      });
      new Gauge({
        name: 'gateway_request_log_lag_seconds',
        help: 'Time since the last successful write, while rows are waiting.',
        registers,
        collect() {
          this.set(stalledMs() / 1000);
        },
      });
    },
  };
}

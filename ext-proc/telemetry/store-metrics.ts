import type { DatabaseBatch, PoolFigures } from '#database/connection/store-figures.ts';
import type { Measured } from '#database/measured.ts';
import type { KeptReasoningResult } from '../limits/reasoning/reasoning-store.ts';
import type { MetricSet } from './metric-set.ts';

export type StoreMetrics = ReturnType<typeof createStoreMetrics>;

/** `reads`: `read_rpm`, also of replays; `refused`: `refused_rpm`; `uploads`: unfinished ones. */
export type RefusingRule = (typeof RULES)[number];
export type LimitStoreOperation = (typeof OPERATIONS)[number];

const OPERATIONS = ['admit', 'release', 'renew', 'held', 'take_read', 'count_refused'] as const;
const RULES = [
  ...['concurrency', 'requests', 'tokens', 'daily_budget', 'monthly_budget', 'lifetime_budget', 'balance'],
  ...['reads', 'refused', 'uploads'],
] as const;
const REASONING_RESULTS = ['kept', 'full', 'found', 'missing', 'evicted', 'unavailable'] as const;

/** From a script in memory to the time-out of a store. */
const CALL_BUCKETS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 500];

export function createStoreMetrics(metrics: MetricSet) {
  const found = metrics.counter(
    'gateway_callers_total',
    'Callers of requests, by where they were looked for: memory (kept since an earlier request), database.',
    { from: ['memory', 'database'] },
  );
  const refused = metrics.counter(
    'gateway_admissions_refused_total',
    `Requests that a limit refused, by rule: ${RULES.join(', ')} (the last three: read_rpm, refused_rpm, and unfinished uploads at once).`,
    { rule: RULES },
  );
  return {
    databaseBatch: batchMetrics(metrics),
    callerFound: (from: 'memory' | 'database') => found.inc({ from }),
    limitStoreCall: limitStoreMetrics(metrics),
    admissionRefused: (rule: RefusingRule) => refused.inc({ rule }),
    watchShards: (closed: () => number) =>
      metrics.read(
        'gateway_limit_shards_closed',
        'Of the 64 shards in Redis, those that admit nothing, or do not answer. With limits in memory 0.',
        closed,
      ),
    watchDatabase: (pools: () => readonly PoolFigures[]) => addPoolGauges(metrics, pools),
    measured: measuredMetrics(metrics),
    ...requestLogMetrics(metrics),
    ...storedResponseMetrics(metrics),
    ...reasoningMetrics(metrics),
  };
}

function batchMetrics(metrics: MetricSet) {
  const items = metrics.histogram(
    'gateway_database_batch_items',
    'Calls in one round trip to PostgreSQL, by batch: key_lookup, settlement, claimed_settlement (with an Idempotency-Key).',
    BATCH_BUCKETS,
    ['batch'],
  );
  const wait = metrics.histogram(
    'gateway_database_batch_wait_seconds',
    'Time that the first call of a batch waited until the batch was sent.',
    CALL_BUCKETS_S,
    ['batch'],
  );
  const duration = metrics.histogram(
    'gateway_database_batch_duration_seconds',
    'From sending a batch to its reply; for a settlement, to its commit.',
    CALL_BUCKETS_S,
    ['batch'],
  );
  const failures = metrics.counter(
    'gateway_database_batch_failures_total',
    'Batches that failed whole. A charge that PostgreSQL refuses is no failure.',
    { batch: ['key_lookup', 'settlement', 'claimed_settlement'] },
  );
  return (figures: DatabaseBatch) => {
    const { batch } = figures;
    items.observe({ batch }, figures.items);
    wait.observe({ batch }, figures.waitedMs / 1000);
    duration.observe({ batch }, figures.tookMs / 1000);
    if (figures.failed) failures.inc({ batch });
  };
}

function limitStoreMetrics(metrics: MetricSet) {
  const duration = metrics.histogram(
    'gateway_limit_store_duration_seconds',
    `Calls of the limit store (Redis, or the memory of the process), by operation: ${OPERATIONS.join(', ')}.`,
    CALL_BUCKETS_S,
    ['operation'],
  );
  const failures = metrics.counter(
    'gateway_limit_store_failures_total',
    'Failed calls of the limit store. The completion was refused with no_capacity.',
    { operation: OPERATIONS },
  );
  return (operation: LimitStoreOperation, tookMs: number, failed: boolean) => {
    duration.observe({ operation }, tookMs / 1000);
    if (failed) failures.inc({ operation });
  };
}

function addPoolGauges(metrics: MetricSet, pools: () => readonly PoolFigures[]): void {
  metrics.readSeries(
    'gateway_database_connections',
    'Connections to PostgreSQL, by pool and state (busy, idle).',
    ['pool', 'state'],
    () =>
      pools().flatMap(({ pool, open, idle }) => [
        [{ pool, state: 'busy' }, open - idle] as const,
        [{ pool, state: 'idle' }, idle] as const,
      ]),
  );
  metrics.readSeries('gateway_database_connections_limit', 'Largest number of connections of a pool.', ['pool'], () =>
    pools().map(({ pool, limit }) => [{ pool }, limit]),
  );
  metrics.readSeries(
    'gateway_database_statements_waiting',
    'Statements waiting for a connection of their pool.',
    ['pool'],
    () => pools().map(({ pool, waiting }) => [{ pool }, waiting]),
  );
}

function measuredMetrics(metrics: MetricSet) {
  const letters = metrics.gauge(
    'gateway_dead_letters',
    'Dead letters that nobody has decided about, at most 10,000. The same from every process.',
  );
  const size = metrics.gauge(
    'gateway_audit_log_bytes',
    'Size of the audit log in the database, with indexes and all months. The same from every process.',
  );
  // No series until the first measurement: a size of 0 would look like growth afterwards.
  size.remove();
  const ahead = metrics.gauge('gateway_clock_ahead_seconds', "Lead of the process's clock over PostgreSQL's.");
  return ({ auditLogBytes, deadLetters, clockAheadMs }: Measured) => {
    size.set(auditLogBytes);
    ahead.set(clockAheadMs / 1000);
    letters.set(deadLetters);
  };
}

function requestLogMetrics(metrics: MetricSet) {
  return {
    requestLogWritten: metrics.count('gateway_request_log_written_total', 'Rows written to the request log.'),
    requestLogDropped: metrics.count(
      'gateway_request_log_dropped_total',
      'Rows lost from the request log: the queue was full, or PostgreSQL refused them.',
    ),
    watchRequestLog(waiting: () => number, stalledMs: () => number) {
      metrics.read('gateway_request_log_waiting', 'Rows waiting to be written to the request log.', waiting);
      metrics.read(
        'gateway_request_log_lag_seconds',
        'Time since the last successful write, while rows are waiting.',
        () => stalledMs() / 1000,
      );
    },
  };
}

/** Stored responses of Idempotency-Keys. */
function storedResponseMetrics(metrics: MetricSet) {
  const stored = metrics.gauge(
    'gateway_idempotency_answers_stored_bytes',
    'Stored responses of all organizations and processes in the database.',
  );
  return {
    storedResponsesEvicted: metrics.count(
      'gateway_idempotency_answers_evicted_total',
      'Stored responses deleted early, because their organization was above idempotency.bytes_per_organization.',
    ),
    responseBytesStored: (bytes: number) => stored.set(bytes),
  };
}

/** Reasoning that is kept for clients that do not send it back. */
function reasoningMetrics(metrics: MetricSet) {
  const messages = metrics.counter(
    'gateway_kept_reasoning_messages_total',
    'Assistant messages with tool calls whose reasoning was kept for the next turn, by result: kept, full (too large, or no memory), found, missing (never kept, expired, evicted, or other calls), evicted, unavailable (the store did not reply in time).',
    { result: REASONING_RESULTS },
  );
  return {
    reasoningKept: (result: KeptReasoningResult | 'evicted', count: number) => messages.inc({ result }, count),
    watchReasoning: (heldBytes: () => number) =>
      metrics.read(
        'gateway_kept_reasoning_bytes',
        'Reasoning that this process has kept, in its memory or in Redis.',
        heldBytes,
      ),
  };
}

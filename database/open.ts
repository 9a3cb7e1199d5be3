import type pg from 'pg';
import { systemClock } from '#core/clock.ts';
import { writeCheckpoints } from './checkpoints/checkpoint-writer.ts';
import type { CheckpointRun } from './checkpoints/checkpoints.ts';
import { createPool, only, run, type StoreLog, sql, type Timeouts } from './connection/connection-pool.ts';
import type { PoolFigures } from './connection/store-figures.ts';
import { keepCostDays } from './costs/cost-days.ts';
import { createIdempotencyStore } from './idempotency/idempotency-store.ts';
import { type CachedCallersOptions, cacheCallers } from './keys/cached-callers.ts';
import { createKeyLookup } from './keys/key-lookup.ts';
import { addDeadLetter } from './ledger/dead-letters.ts';
import type { Ledger } from './ledger/ledger.ts';
import { ledgerEpoch } from './ledger/ledger-epoch.ts';
import { chargedAmong, credits, findGeneration } from './ledger/ledger-reads.ts';
import { addLosses, tellLosses } from './ledger/loss-rows.ts';
import {
  createClaimedSettlementWriter,
  createSettlementWriter,
  type SettlementOptions,
  type StoredResponseBound,
} from './ledger/settlement-writer.ts';
import { readUsage } from './ledger/usage-pages.ts';
import { CallerSubscription } from './limits-ownership/caller-subscription.ts';
import { LimitsLock } from './limits-ownership/memory-mode-lock.ts';
import { createFenceRow, createShardFences } from './limits-ownership/shard-fences.ts';
import type { SharedStore } from './limits-ownership/shared-store.ts';
import { keepMeasuring, type Measured } from './measured.ts';
import { detectRollbacks } from './rollback-detection.ts';
import { prepareDatabase } from './schema/prepare.ts';

export interface PostgresOptions extends SettlementOptions {
  readonly url: string;
  readonly log: StoreLog;
  /** Timeouts of requests. Migrations and verification have their own. */
  readonly timeouts?: Timeouts;
  readonly pool?: PoolSizes;
  /** Called for each lookup of a caller, with where it was found. */
  readonly onCallerFound?: CachedCallersOptions['onFound'];
  /** Called once a minute. */
  readonly onMeasured?: (measured: Measured) => void;
  /** Default: the default of `idempotency.bytes_per_organization`. */
  readonly storedResponses?: StoredResponseBound;
}

export interface PoolSizes {
  /**
   * Connections for idempotency, opened with the first Idempotency-Key. Whole responses pass
   * through them, which must not delay lookups or commits.
   */
  readonly idempotency: number;
  /** Connections for usage, generations, credits and other reads: these must not delay requests. */
  readonly administration: number;
}

export type Postgres = Awaited<ReturnType<typeof openPostgres>>;

const STORED_RESPONSES: StoredResponseBound = { boundBytes: () => 1024 ** 3 };
const TIMEOUTS: Timeouts = { connectMs: 2_000, statementMs: 3_000 };
/** Connections for two batches of lookups, one commit and a ping. */
const REQUEST_CONNECTIONS = 4;
/** Connections for the lock, the process report, the request log and the sums of costs. */
const OWN_CONNECTIONS = 4;
const POOL: PoolSizes = { idempotency: 4, administration: 4 };

/** Maximum connections of one gateway process. */
export function connectionsOf({ idempotency, administration }: PoolSizes): number {
  return REQUEST_CONNECTIONS + OWN_CONNECTIONS + idempotency + administration;
}

/**
 * Connects, brings the schema up to date and creates partitions ahead. Rejects with
 * StoreUnavailable, SchemaMismatch or TransactionPooler.
 */
export async function openPostgres(options: PostgresOptions) {
  const { url, log, timeouts = TIMEOUTS, pool = POOL, storedResponses = STORED_RESPONSES } = options;
  const requests = createPool(url, REQUEST_CONNECTIONS, timeouts, log);
  const others = createPool(url, pool.administration, timeouts, log);
  const claims = createPool(url, pool.idempotency, timeouts, log);
  const endPools = () => Promise.all([requests.end(), others.end(), claims.end()]);
  const fences = createShardFences(createFenceRow(others));
  const subscription = new CallerSubscription(systemClock);
  const lock = new LimitsLock({ url, fences, subscription, timeouts, log });
  const stopPreparing = await prepareDatabase(url, others, log).catch(async (error: unknown) => {
    await endPools();
    throw error;
  });
  const stopSumming = keepCostDays(url, timeouts, log);
  const { onMeasured, onCallerFound: onFound } = options;
  const stopMeasuring = onMeasured && keepMeasuring(others, onMeasured, log);
  const renewEpochAfter = async (seen: string): Promise<void> => {
    log.error({}, 'the database went back in time: its epoch is renewed');
    await run(others, RENEW_EPOCH_AFTER, [seen]);
  };
  const watched = detectRollbacks(
    {
      ...createKeyLookup(requests, { owner: () => lock.owner(), fences }, options),
      charge: createSettlementWriter(requests, options),
      chargeClaimed: createClaimedSettlementWriter(claims, { ...options, storedResponses }),
    },
    renewEpochAfter,
  );
  const { charge, chargeClaimed } = watched;
  return {
    // In front of the rollback detection, which must see only fresh reads.
    keys: cacheCallers({ reads: watched, changes: subscription, clock: systemClock, ...(onFound ? { onFound } : {}) }),
    ledger: { ...recordsOf(others, options), charge, chargeClaimed, renewEpochAfter } satisfies Ledger,
    fences,
    idempotency: createIdempotencyStore(claims),
    writeCheckpoints: (work: CheckpointRun) => writeCheckpoints(others, work),
    /**
     * Takes the lock for limits in memory. `marksPath`: file beside the charge log for this
     * volume's marks. `onTakenOver`: another process owns the limits now. This process admits
     * nothing any more and should end.
     */
    memoryModeLock: (marksPath: string, onTakenOver: OnTakenOver) => lock.take(marksPath, onTakenOver),
    sharedModeLock: (store: SharedStore, onTakenOver: OnTakenOver) => lock.share(store, onTakenOver),
    /**
     * Key that seals data which processes of this database leave for each other outside of it. The
     * dashboard and the command line cannot read it (schema/roles.sql).
     */
    mirrorKey: async () => (await only<{ key: Buffer }>(others, MIRROR_KEY, [])).key,
    /**
     * Key of the hashes that replace customers' identifiers in requests to providers. The dashboard
     * and the command line cannot read it (schema/roles.sql).
     */
    identityKey: async () => (await only<{ key: Buffer }>(others, IDENTITY_KEY, [])).key,
    pools: () => [poolFigures('requests', requests), poolFigures('others', others), poolFigures('idempotency', claims)],
    /** Rejects with StoreUnavailable. */
    ping: async () => {
      await run(requests, PING, []);
    },
    close: async () => {
      stopPreparing();
      stopSumming();
      stopMeasuring?.();
      await lock.release();
      await endPools();
    },
  };
}

type OnTakenOver = (reason: string) => void;

/** What the ledger does beside charging. */
function recordsOf(
  pool: pg.Pool,
  { onLoss }: SettlementOptions,
): Omit<Ledger, 'charge' | 'chargeClaimed' | 'renewEpochAfter'> {
  return {
    lose: async (loss) => tellLosses(await addLosses(pool, [loss]), onLoss),
    deadLetter: (settlement, reason, delivered) => addDeadLetter(pool, settlement, reason, delivered),
    currentEpoch: () => ledgerEpoch(pool),
    chargedAmong: (generationIds) => chargedAmong(pool, generationIds),
    findGeneration: (organizationId, generationId) => findGeneration(pool, organizationId, generationId),
    credits: (organizationId) => credits(pool, organizationId),
    usage: (query, onPage) => readUsage(pool, query, onPage),
  };
}

function poolFigures(pool: PoolFigures['pool'], of: ReturnType<typeof createPool>): PoolFigures {
  return { pool, limit: of.options.max, open: of.totalCount, idle: of.idleCount, waiting: of.waitingCount };
}

const PING = sql('ping')`select 1`;
const MIRROR_KEY = sql('mirror_key')`select mirror_key as key from ledger_state`;
const IDENTITY_KEY = sql('identity_key')`select identity_key as key from ledger_state`;
const RENEW_EPOCH_AFTER = sql('renew_epoch_after')`select renew_epoch_after($1)`;

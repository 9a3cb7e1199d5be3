import type { Administration } from './administration/administration.ts';
import { watchAuditLogSize } from './audit/audit-log-size.ts';
import { listCheckpoints } from './checkpoints/checkpoint-rows.ts';
import { writeCheckpoints } from './checkpoints/checkpoint-writer.ts';
import type { CheckpointStore } from './checkpoints/checkpoints.ts';
import { createPool, run, type Statement, type StoreLog, type Timeouts } from './connection/connection-pool.ts';
import type { BatchOptions, PoolFigures } from './connection/store-figures.ts';
import { refuseTransactionPooler } from './connection/transaction-pooler.ts';
import { createIdempotencyStore } from './idempotency/idempotency-rows.ts';
import type { IdempotencyStore } from './idempotency/idempotency-store.ts';
import { replaceKey, revokeKey, updateKey } from './keys/key-changes.ts';
import { createKeyLookup } from './keys/key-lookup.ts';
import { createKey, findKey, listKeys } from './keys/key-rows.ts';
import type { KeyStore } from './keys/key-store.ts';
import { addDeadLetter, forgiveDeadLetter, listDeadLetters, retryDeadLetter } from './ledger/dead-letters.ts';
import type { Ledger } from './ledger/ledger.ts';
import { chargedAmong, credits, findGeneration, ledgerEpoch } from './ledger/ledger-reads.ts';
import { addLoss, listLosses } from './ledger/loss-rows.ts';
import { type AnswerBound, createClaimedSettlementWriter, createSettlementWriter } from './ledger/settlement-writer.ts';
import { readUsage } from './ledger/usage-pages.ts';
import { verifyLedger } from './ledger-verification/ledger-verification.ts';
import { createFenceRow } from './limits-ownership/fence-row.ts';
import { createMemoryModeLock, type MemoryModeLock, type SharedModeLock } from './limits-ownership/memory-mode-lock.ts';
import { createShardFences, type ReadFences } from './limits-ownership/shard-fences.ts';
import type { SharedStore } from './limits-ownership/shared-store.ts';
import {
  createOrganization,
  credit,
  findOrganization,
  listOrganizations,
  organizationsById,
  searchOrganizations,
  setSuspended,
  updateOrganization,
} from './organizations/organization-rows.ts';
import { keepMakingPartitions, makePartitions } from './partitions/month-partitions.ts';
import { makeLogPartitions } from './request-log/request-log-partitions.ts';
import { migrate } from './schema/migrate.ts';
import { watchForSetbacks } from './setback-watch.ts';

export interface PostgresOptions extends BatchOptions {
  readonly url: string;
  readonly log: StoreLog;
  /** For requests; migrations and verification have their own. */
  readonly timeouts?: Timeouts;
  readonly pool?: PoolSizes;
  /** Given: the size of the audit log is measured once a minute. */
  readonly onAuditLogBytes?: (bytes: number) => void;
  /** Default: `idempotency.bytes_per_organization`'s. */
  readonly answers?: AnswerBound;
}

export interface PoolSizes {
  /** Opened when the first Idempotency-Key comes. Whole answers go through them, which must keep neither lookups nor commits waiting. */
  readonly idempotency: number;
  /** Usage, generation and credits reads, and administration: they must not keep requests waiting. */
  readonly administration: number;
}

export interface Postgres {
  readonly keys: KeyStore;
  readonly ledger: Ledger;
  readonly idempotency: IdempotencyStore;
  readonly administration: Administration;
  readonly checkpoints: CheckpointStore;
  /** Fences of the store that processes share. */
  readonly fences: ReadFences;
  /**
   * To be held by the process that keeps limits in memory. `marksPath`: beside its spool and journal, where processes with these leave their
   * marks. `onTakenOver`: another process has the lock now, nothing is admitted here any more and this process should end.
   */
  memoryModeLock(marksPath: string, onTakenOver: (reason: string) => void): Promise<MemoryModeLock>;
  /** To be held by every process that keeps limits in a store that it shares with others. */
  sharedModeLock(store: SharedStore, onTakenOver: (reason: string) => void): Promise<SharedModeLock>;
  /** Known to who may read the ledger: seals what processes of this database leave for each other elsewhere. */
  mirrorKey(): Promise<Buffer>;
  /** Known alike: of the hashes that providers are sent instead of customers' own identifiers. */
  identityKey(): Promise<Buffer>;
  /** Its connections now. */
  pools(): readonly PoolFigures[];
  /** Rejects with StoreUnavailable when PostgreSQL is away. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

const ANSWERS: AnswerBound = { boundBytes: () => 1024 ** 3 };
const TIMEOUTS: Timeouts = { connectMs: 2_000, statementMs: 3_000 };
/** Two batches of lookups, one commit, and one spare for ping. */
const REQUEST_CONNECTIONS = 4;
/** The lock, the report of the process, the request log. */
const OWN_CONNECTIONS = 3;
const POOL: PoolSizes = { idempotency: 4, administration: 4 };

/** Most connections of one gateway process. */
export function connectionsOf({ idempotency, administration }: PoolSizes): number {
  return REQUEST_CONNECTIONS + OWN_CONNECTIONS + idempotency + administration;
}

/**
 * Connects, brings the schema up to date and makes partitions ahead. Rejects with StoreUnavailable, or says why the schema, or the way to the
 * database, is not for us.
 */
export async function openPostgres(options: PostgresOptions): Promise<Postgres> {
  const { url, log, timeouts = TIMEOUTS, pool = POOL, answers = ANSWERS } = options;
  const requests = createPool(url, REQUEST_CONNECTIONS, timeouts, log);
  const others = createPool(url, pool.administration, timeouts, log);
  const claims = createPool(url, pool.idempotency, timeouts, log);
  const endPools = () => Promise.all([requests.end(), others.end(), claims.end()]);
  const fences = createShardFences(createFenceRow(others));
  const lock = createMemoryModeLock({ url, fences, timeouts, log });
  try {
    await refuseTransactionPooler(url);
    const migrations = await migrate(others);
    if (migrations.length > 0) log.info({ migrations }, 'the database schema was brought forward');
    await makePartitions(others, Date.now(), log);
    await makeLogPartitions(others, Date.now(), log);
  } catch (error) {
    await endPools();
    throw error;
  }
  const stopMakingPartitions = keepMakingPartitions(others, log);
  const { onAuditLogBytes } = options;
  const stopMeasuring = onAuditLogBytes && watchAuditLogSize(others, onAuditLogBytes);
  const watched = watchForSetbacks(
    {
      ...createKeyLookup(requests, { owner: lock.owner, fences }, options),
      settle: createSettlementWriter(requests, options),
      settleClaimed: createClaimedSettlementWriter(claims, { ...options, answers }),
    },
    async (seen) => {
      log.error({}, 'the database went back in time: its epoch is renewed');
      await run(others, RENEW_EPOCH_AFTER, [seen]);
    },
  );
  return {
    keys: watched,
    ledger: {
      settle: watched.settle,
      settleClaimed: watched.settleClaimed,
      lose: (loss) => addLoss(others, loss, options.onLoss),
      deadLetter: (settlement, reason, delivered) => addDeadLetter(others, settlement, reason, delivered),
      currentEpoch: () => ledgerEpoch(others),
      chargedAmong: (generationIds) => chargedAmong(others, generationIds),
      findGeneration: (organizationId, generationId) => findGeneration(others, organizationId, generationId),
      credits: (organizationId) => credits(others, organizationId),
      usage: (query, onPage) => readUsage(others, query, onPage),
    },
    fences,
    idempotency: createIdempotencyStore(claims),
    administration: {
      createOrganization: (organization, by, opening) => createOrganization(others, organization, by, opening),
      organizations: () => listOrganizations(others),
      organization: (id) => findOrganization(others, id),
      searchOrganizations: (query) => searchOrganizations(others, query),
      organizationsById: (ids) => organizationsById(others, ids),
      updateOrganization: (id, change, by) => updateOrganization(others, id, change, by),
      setSuspended: (id, suspended, by) => setSuspended(others, id, suspended, by),
      credit: (organizationId, entry, by) => credit(others, organizationId, entry, by),
      createKey: (key, by) => createKey(others, key, by),
      keys: (organizationId, mostRevoked) => listKeys(others, organizationId, mostRevoked),
      key: (organizationId, keyId) => findKey(others, organizationId, keyId),
      updateKey: (organizationId, keyId, change, by) => updateKey(others, organizationId, keyId, change, by),
      replaceKey: (organizationId, keyId, replacement, by) =>
        replaceKey(others, organizationId, keyId, replacement, by),
      revokeKey: (id, by, organizationId) => revokeKey(others, id, by, organizationId),
      verifyLedger: (options) => verifyLedger(others, options),
      losses: (sinceMs) => listLosses(others, sinceMs),
      deadLetters: () => listDeadLetters(others),
      retryDeadLetter: (generationId, by) => retryDeadLetter(others, generationId, by),
      forgiveDeadLetter: (generationId, by) => forgiveDeadLetter(others, generationId, by),
      renewLedgerEpoch: async () => {
        const rows = await run<{ epoch: string }>(others, RENEW_EPOCH, []);
        return String(rows[0]?.epoch);
      },
    },
    checkpoints: {
      write: (work) => writeCheckpoints(others, work),
      since: (ms) => listCheckpoints(others, ms),
    },
    memoryModeLock: lock.take,
    sharedModeLock: lock.share,
    mirrorKey: () => readKey(others, MIRROR_KEY),
    identityKey: () => readKey(others, IDENTITY_KEY),
    pools: () => [poolFigures('requests', requests), poolFigures('others', others), poolFigures('idempotency', claims)],
    ping: async () => {
      await run(requests, PING, []);
    },
    close: async () => {
      stopMakingPartitions();
      stopMeasuring?.();
      await lock.release();
      await endPools();
    },
  };
}

function poolFigures(pool: PoolFigures['pool'], of: ReturnType<typeof createPool>): PoolFigures {
  return { pool, limit: of.options.max, open: of.totalCount, idle: of.idleCount, waiting: of.waitingCount };
}

async function readKey(pool: ReturnType<typeof createPool>, statement: Statement): Promise<Buffer> {
  const [row] = await run<{ key: Buffer }>(pool, statement, []);
  if (!row) throw new Error('the ledger has no state');
  return row.key;
}

const PING = { name: 'ping', text: 'select 1' };
const MIRROR_KEY = { name: 'mirror_key', text: 'select mirror_key as key from ledger_state' };
const IDENTITY_KEY = { name: 'identity_key', text: 'select identity_key as key from ledger_state' };
const RENEW_EPOCH_AFTER = { name: 'renew_epoch_after', text: 'select renew_epoch_after($1)' };
const RENEW_EPOCH = {
  name: 'renew_epoch',
  text: 'update ledger_state set epoch = gen_random_uuid() returning epoch',
};

import type { Clock } from '../../core/clock.ts';
import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import type { Log } from '../../core/log/log.ts';
import { openPostgres, type Postgres } from '../../database/open.ts';
import { sealMirror } from '../billing/spool/sealed-mirror.ts';
import type { SpoolMirror } from '../billing/spool/spool-mirror.ts';
import { createIdentities, type Identify } from '../delivery/provider/identities.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { watchLimitStore } from '../telemetry/watch-limit-store.ts';
import { createReadTurns, idempotencyInTurns, type ReadTurns } from '../turns/reads-in-turns.ts';
import { openLimitStore } from './open-limit-store.ts';

/** The configuration in force, for what is opened before it is followed. */
export interface Settings {
  current: () => GatewayConfig;
}

export interface StoreOptions {
  readonly settings: Settings;
  readonly dataDir: string;
  readonly workerIndex: number;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface OpenStores {
  readonly kind: 'opened';
  readonly database: Postgres;
  /** Turns of organizations at what they read. */
  readonly turns: ReadTurns;
  readonly databaseUrl: string;
  readonly limits: LimitStore;
  readonly opensInMs: () => Promise<number>;
  readonly leave: () => Promise<unknown>;
  /** Resolves when another process keeps the limits. */
  readonly takenOver: Promise<void>;
  /** Replaces customers' own identifiers towards providers, with the key of the deployment. */
  readonly identify: Identify;
  readonly mirror: SpoolMirror | undefined;
}

/**
 * PostgreSQL, and the store of limits on it. `refused`: says why this process cannot start. Rejects
 * as openPostgres().
 */
export async function openStores({
  settings,
  dataDir,
  workerIndex,
  leaseMs,
  clock,
  metrics,
  log,
}: StoreOptions): Promise<OpenStores | { readonly kind: 'refused'; readonly message: string }> {
  const { postgres, redis, postgresPool: pool, postgresTimeouts: timeouts } = settings.current().stores;
  if (postgres.kind === 'embedded') {
    const message = 'The embedded PostgreSQL is started by `npm start`. To run this process alone, set DATABASE_URL.';
    return { kind: 'refused', message };
  }
  const database = await openPostgres({
    url: postgres.url,
    log,
    pool,
    timeouts,
    severalProcesses: redis.kind === 'url',
    onBatch: metrics.databaseBatch,
    onLoss: metrics.lost,
    onAuditLogBytes: metrics.auditLogMeasured,
    answers: {
      boundBytes: () => settings.current().idempotencyBytesPerOrganization,
      onEvicted: metrics.answersEvicted,
    },
  });
  metrics.watchDatabase(database.pools);
  const turns = createReadTurns(pool);
  const takenOver = Promise.withResolvers<void>();
  const onTakenOver = (reason: string) => takenOver.resolve(log.fatal(reason));
  const opened = await openLimitStore({ redis, database, dataDir, workerIndex, leaseMs, log, onTakenOver });
  if (opened.kind === 'refused') return opened;
  return {
    ...opened,
    kind: 'opened',
    database: { ...database, idempotency: idempotencyInTurns(database.idempotency, turns) },
    turns,
    databaseUrl: postgres.url,
    limits: watchLimitStore(opened.limits, metrics, clock),
    takenOver: takenOver.promise,
    identify: createIdentities(await database.identityKey()),
    mirror: opened.mirror && sealMirror(opened.mirror, await database.mirrorKey(), log),
  };
}

import { openPostgres, type Postgres } from '#database/open.ts';
import { untilUsable } from '#database/until-usable.ts';
import { sealMirror } from '../billing/sealed-mirror.ts';
import { createIdentities, type Identify } from '../delivery/provider/identities.ts';
import { createReadTurns, idempotencyInTurns, type ReadTurns } from '../fairness/reads-in-turns.ts';
import type { ChargeMirror } from '../limits/charge-mirror.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import { watchLimitStore } from '../telemetry/watch-limit-store.ts';
import { type GatewayContext, LEASE_MS } from './gateway-context.ts';
import { type OpenedLimitStore, openLimitStore } from './open-limit-store.ts';

export interface OpenStores {
  readonly kind: 'opened';
  readonly database: Postgres;
  readonly turns: ReadTurns;
  readonly databaseUrl: string;
  readonly limits: LimitStore;
  readonly opensInMs: () => Promise<number>;
  readonly leave: () => Promise<unknown>;
  /** Resolves when another process keeps the limits. */
  readonly takenOver: Promise<void>;
  /** Replaces customers' own identifiers in requests to providers, by the deployment's key. */
  readonly identify: Identify;
  readonly mirror: ChargeMirror | undefined;
  readonly keepReasoning: Extract<OpenedLimitStore, { kind: 'open' }>['keepReasoning'];
}

/** This process cannot start with its stores. The message is for the operator. */
export type StoreRefused = Extract<OpenedLimitStore, { kind: 'refused' }>;

/**
 * Opens PostgreSQL and the limit store. Rejects like openPostgres() and openLimitStore(). A process
 * without a supervisor, which would start it again at once, waits for both instead.
 */
export async function openStores(context: GatewayContext, isSupervised: boolean): Promise<OpenStores | StoreRefused> {
  const { paths, workerIndex, config, clock, metrics, log } = context;
  const { postgres, redis, postgresPool: pool, postgresTimeouts: timeouts } = config().stores;
  if (postgres.kind === 'embedded') {
    const message = 'The embedded PostgreSQL is started by `npm start`. To run this process alone, set DATABASE_URL.';
    return { kind: 'refused', message };
  }
  const whenUsable = <Opened>(open: () => Promise<Opened>) => (isSupervised ? open() : untilUsable(open, log));
  const options = {
    url: postgres.url,
    log,
    pool,
    timeouts,
    severalProcesses: redis.kind === 'url',
    onBatch: metrics.databaseBatch,
    onCallerFound: metrics.callerFound,
    onLoss: metrics.lost,
    onMeasured: metrics.measured,
    storedResponses: {
      boundBytes: () => config().idempotencyBytesPerOrganization,
      onEvicted: metrics.storedResponsesEvicted,
    },
  };
  const database = await whenUsable(() => openPostgres(options));
  metrics.watchDatabase(database.pools);
  const turns = createReadTurns(pool);
  const takenOver = Promise.withResolvers<void>();
  const onTakenOver = (reason: string) => takenOver.resolve(log.fatal(reason));
  const limitOptions = { redis, database, paths, workerIndex, log, onTakenOver, leaseMs: LEASE_MS };
  const opened = await whenUsable(() => openLimitStore(limitOptions));
  if (opened.kind === 'refused') return opened;
  metrics.watchShards(opened.closedShards);
  return {
    ...opened,
    kind: 'opened',
    database: { ...database, idempotency: idempotencyInTurns(database.idempotency, turns) },
    turns,
    databaseUrl: postgres.url,
    limits: watchLimitStore(opened.limits, metrics, clock),
    takenOver: takenOver.promise,
    identify: createIdentities(await whenUsable(() => database.identityKey())),
    mirror: opened.mirror && sealMirror(opened.mirror, await whenUsable(() => database.mirrorKey()), log),
  };
}

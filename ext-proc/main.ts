import { mkdir } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { systemClock as clock } from '../core/clock.ts';
import { readDrainTimeoutMs } from '../core/config/drain-timeout.ts';
import type { GatewayConfig } from '../core/config/gateway-config.ts';
import { type LoadedConfig, loadConfig } from '../core/config/load.ts';
import { formatProblem } from '../core/config/problem.ts';
import { type RuntimePaths, runtimePaths } from '../core/config/runtime-paths.ts';
import { socketFolderProblem } from '../core/config/socket-folder.ts';
import { createLog, type Log } from '../core/log/log.ts';
import { StoreUnavailable } from '../core/store-unavailable.ts';
import { TransactionPooler } from '../database/connection/transaction-pooler.ts';
import { SchemaMismatch } from '../database/schema/migrate.ts';
import packageFile from '../package.json' with { type: 'json' };
import type { Accounting } from './billing/accounting.ts';
import { JudgingTurns } from './chat/judging-turns.ts';
import { createTokenCounter } from './chat/tokens/count-tokens.ts';
import { estimateTokens } from './chat/tokens/text-meter.ts';
import { createDeliveryService } from './delivery/delivery-service.ts';
import { streamClusterName } from './envoy-config/bootstrap.ts';
import { createGateway } from './gateway.ts';
import { keepDeletingExpired } from './idempotency/expiry.ts';
import { watchActivity } from './process-reports/process-report-activity.ts';
import { openRequestLogs } from './request-log/open-request-logs.ts';
import { endInOrder, type GatewayParts } from './startup/end-in-order.ts';
import { ENVOY_STAYS, followEnvoyLeaving } from './startup/envoy-leaving.ts';
import { followConfiguration } from './startup/follow-configuration.ts';
import { keepCheckpoints } from './startup/keep-checkpoints.ts';
import { leaveToSuccessor } from './startup/leave-to-successor.ts';
import { openAccounting, spoolFolder } from './startup/open-accounting.ts';
import { type OpenStores, openStores, type Settings } from './startup/open-stores.ts';
import { reportProcess } from './startup/report-process.ts';
import { serveHealth } from './startup/serve-health.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { createReadiness, sharedProbeKey } from './telemetry/readiness.ts';
import { openTracing } from './tracing/tracing.ts';
import type { ExchangeHandler } from './transport/exchange.ts';
import { startTransport, type Transport } from './transport/start.ts';
import { ledgerInTurns } from './turns/reads-in-turns.ts';

/**
 * The gateway process: configuration, stores, gateway, sockets, in this order; then
 * `{type: 'listening'}` to the supervisor. Ends by draining on SIGTERM, or when the supervisor is
 * gone.
 */

/** The supervisor does not restart a process with this status. Standard error has the reason. */
const EXIT_CONFIGURATION = 78;
const LEASE_MS = 15_000;
const DRAIN_MARGIN_MS = 5_000;
/** Time for the last rows of the request log and the last spans. */
const LOG_FLUSH_MS = 2_000;

const configPath = process.env.GATEWAY_CONFIG ?? 'config/gateway.yaml';
const workerIndex = Number(process.env.WORKER_INDEX ?? '0');
/** The first of several processes writes Envoy's files and has the metrics address. */
const isFirst = workerIndex === 0;

async function main(): Promise<void> {
  const drainTimeoutMs = readDrainTimeoutMs(process.env);
  if (typeof drainTimeoutMs === 'string') return refuseToStart(drainTimeoutMs);
  const loaded = await loadConfig(configPath, process.env, { secrets: 'all' });
  if (!loaded.ok) return refuseToStart(loaded.problems.map(formatProblem).join('\n'));
  const log = createLog(process.env.LOG_LEVEL ?? 'info');
  for (const warning of loaded.warnings) log.warn(formatProblem(warning));
  const paths = runtimePaths(process.env);
  for (const folder of [paths.dataDir, paths.envoyDir, paths.socketDir])
    await mkdir(folder, { recursive: true, mode: 0o700 });
  const folderProblem = socketFolderProblem(paths);
  if (folderProblem !== undefined) return refuseToStart(folderProblem);

  const metrics = createMetrics({ workerIndex, version: packageFile.version });
  const settings: Settings = { current: () => loaded.config };
  const { dataDir } = paths;
  const stores = await openStores({ settings, dataDir, workerIndex, leaseMs: LEASE_MS, clock, metrics, log }).catch(
    explainUnavailable,
  );
  if (stores === undefined) return;
  if (stores.kind === 'refused') return refuseToStart(stores.message);
  await serve({ loaded, settings, paths, stores, allMetrics: metrics, log, drainTimeoutMs });
}

/** Not a configuration error: the supervisor tries again, for a store or migration that is late. */
function explainUnavailable(error: unknown): undefined {
  if (error instanceof TransactionPooler) return refuseToStart(error.message);
  if (!(error instanceof StoreUnavailable || error instanceof SchemaMismatch)) throw error;
  const why = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  const advice = 'Start it, or correct stores in the configuration (DATABASE_URL and REDIS_URL override it).';
  process.stderr.write(
    error instanceof StoreUnavailable
      ? `A store does not answer: ${error.message}${why}. ${advice}\n`
      : `${error.message}${why}\n`,
  );
  process.exit(1);
}

interface Serving {
  readonly loaded: LoadedConfig;
  readonly settings: Settings;
  readonly paths: RuntimePaths;
  readonly stores: OpenStores;
  readonly allMetrics: Metrics;
  readonly log: Log;
  readonly drainTimeoutMs: number;
}

/** Starts all parts, each after those that it needs, and ends them in the opposite order. */
async function serve({ loaded, settings, paths, stores, allMetrics, log, drainTimeoutMs }: Serving): Promise<void> {
  const { database, databaseUrl, limits, opensInMs, leave: leaveLimits, mirror, identify, turns } = stores;
  const initial = loaded.config;
  const { metrics, activity } = watchActivity(allMetrics, clock);
  const { requestLog, attempts, keepTidy } = openRequestLogs({ databaseUrl, metrics, log, workerIndex, initial });
  const money = await openAccounting({
    database,
    limits,
    attempts,
    mirror,
    claimLeaseMs: LEASE_MS,
    spoolFolder: spoolFolder(paths.dataDir),
    workerIndex,
    clock,
    metrics,
    log,
  });
  const { accounting } = money;
  const tokens = createTokenCounter({ log });
  const { countTokens } = tokens;
  const delivery = createDeliveryService({
    egressSocketPath: paths.egressSocket,
    clock,
    countTokens,
    estimateTokens,
    identify,
    onNoRoom: metrics.memoryRefused('answers'),
  });
  const envoy = isFirst && !process.connected ? followEnvoyLeaving({ paths, log }) : ENVOY_STAYS;
  const readiness = createReadiness({
    listen: initial.listen,
    ...(process.env.ENVOY_HOST ? { envoyHost: process.env.ENVOY_HOST } : {}),
    probeKey: await sharedProbeKey(paths.probeKey),
    completionsRefused: async () => envoy.notReady() ?? completionsRefused(accounting, opensInMs),
  });
  const config = await followConfiguration({
    path: configPath,
    initial: loaded,
    paths,
    writes: isFirst,
    clock,
    metrics,
    log,
  });
  settings.current = config.current;
  const stopDeleting = keepDeletingExpired({
    store: database.idempotency,
    retentionMs: () => config.current().idempotencyRetentionMs,
    boundBytes: () => config.current().idempotencyBytesPerOrganization,
    metrics,
    log,
  });
  const stopCheckpoints = keepCheckpoints(database.checkpoints, paths.dataDir, log);
  keepTidy(() => config.current().requestLogRetentionMs);
  const { version } = packageFile;
  const tracing = await openTracing({
    target: () => config.current().tracing,
    workerIndex,
    version,
    clock,
    metrics,
    log,
  });
  const handler = createGateway({
    keys: database.keys,
    ledger: ledgerInTurns(database.ledger, turns),
    turns,
    limits,
    accounting,
    claims: money.claims,
    delivery,
    boundTokens: tokens.boundTokens,
    judging: new JudgingTurns(),
    clock,
    metrics,
    log,
    requestLog,
    tracing,
    config: config.current,
    isProbe: readiness.isProbe,
  });
  const transport = await openTransport(paths, handler, config.current, metrics, log);
  metrics.watchMemory(() => [
    { use: 'request_bodies', held: transport.bodies },
    { use: 'answers', held: delivery.responseBudget },
  ]);
  const health = await serveHealth({ config: initial, paths, workerIndex, readiness, metrics });
  log.info({ worker: workerIndex, pid: process.pid }, 'the gateway process listens');
  process.send?.({ type: 'listening' });
  const reporter = reportProcess({
    databaseUrl,
    workerIndex,
    paths,
    log,
    clock,
    activity,
    config: config.current,
    configuration: config.reported,
    spooled: money.spool.pending,
    requestLog: () => ({ waiting: requestLog.waiting(), dropped: requestLog.dropped() }),
    liveHolds: money.holds.live,
    notReady: readiness.notReady,
  });

  const parts: GatewayParts = {
    transport,
    envoy,
    money,
    tokens,
    log,
    refuse: readiness.drain,
    async closeServing() {
      config.close();
      stopDeleting();
      stopCheckpoints();
      const told = [requestLog, tracing].map((one) => one.close(LOG_FLUSH_MS));
      // The last attempts are recorded when their tokens are counted.
      const recorded = Promise.all([delivery.close(), tokens.close()]).then(() => attempts.close(LOG_FLUSH_MS));
      await Promise.all([...told, recorded, reporter.close(), health.close()]);
    },
    leaveLimits,
    closeStores: () => Promise.all([limits.close(), database.close()]),
  };
  const begin = onceAskedToEnd(log, drainTimeoutMs, (drainMs) => endInOrder(parts, drainMs));
  const giveUp = () => leaveToSuccessor({ money, log, refuse: readiness.drain });
  // Started again it serves if the other one has gone, and is refused with a message if not.
  void stores.takenOver.then(giveUp).then(() => begin('another process keeps the limits', 0, 1));
  // A killed process does not reach its exit. With the cache the next start needs half the CPU.
  flushCompileCache();
}

function openTransport(
  paths: RuntimePaths,
  handler: ExchangeHandler,
  config: () => GatewayConfig,
  metrics: Metrics,
  log: Log,
): Promise<Transport> {
  return startTransport({
    extProcSocket: paths.extProcSocket(workerIndex),
    streamSocket: paths.streamSocket(workerIndex),
    streamClusterName: streamClusterName(workerIndex),
    onNoRoom: metrics.memoryRefused('request_bodies'),
    exchangeDeadlineMs: () => config().timeouts.totalMs * 2 + DRAIN_MARGIN_MS,
    handler,
    onFault: ({ kind, requestId, error }) =>
      log.error({ err: error, request_id: requestId, fault: kind }, 'transport fault'),
  });
}

/** Why an admitted request would not be served now; `undefined` when it would. */
async function completionsRefused(
  accounting: Accounting,
  opensInMs: () => Promise<number>,
): Promise<string | undefined> {
  const reason = accounting.refusesBecause();
  if (reason !== undefined) return reason;
  return opensInMs().then(
    (ms) => (ms > 0 ? `it is not known yet what is held: nothing is admitted for another ${ms} ms` : undefined),
    () => 'the limit store does not answer',
  );
}

function onceAskedToEnd(log: Log, drainTimeoutMs: number, end: (drainMs: number) => Promise<number>) {
  let ending = false;
  const begin = (reason: string, drainMs: number, leastStatus = 0) => {
    if (ending) return;
    ending = true;
    log.info({ reason }, 'draining');
    end(drainMs).then(
      (status) => process.exit(Math.max(status, leastStatus)),
      (error: unknown) => {
        log.error({ err: error }, 'the shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => begin('SIGTERM', drainTimeoutMs));
  process.on('SIGINT', () => begin('SIGINT', drainTimeoutMs));
  // The supervisor was killed: no other process would stop this one.
  process.on('disconnect', () => begin('the supervisor is gone', 0));
  return begin;
}

function refuseToStart(message: string): undefined {
  process.stderr.write(`${message}\n`);
  process.exitCode = EXIT_CONFIGURATION;
  process.disconnect?.();
}

await main();

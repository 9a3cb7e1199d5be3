import { systemClock as clock } from '#core/clock.ts';
import type { LoadedConfig } from '#core/config/load.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { Log } from '#core/log/log.ts';
import type { Postgres } from '#database/open.ts';
import packageFile from '../../package.json' with { type: 'json' };
import { keepDeletingExpired } from '../billing/idempotency/expiry.ts';
import { TokenCounter } from '../chat/tokens/count-tokens.ts';
import { estimateTokens } from '../chat/tokens/text-meter.ts';
import { createDeliveryService, type DeliveryService, KEPT_BODIES_BYTES } from '../delivery/delivery-service.ts';
import { DoorTranslator } from '../doors/reading/door-translator.ts';
import { streamClusterName } from '../envoy-config/bootstrap.ts';
import { EnvoyTokens } from '../envoy-config/envoy-tokens.ts';
import { ledgerInTurns } from '../fairness/reads-in-turns.ts';
import { ValidationTurns } from '../fairness/validation-turns.ts';
import { REASONING_BOUNDS } from '../limits/reasoning/reasoning-store.ts';
import { createKeptReasoning } from '../reasoning/kept-reasoning.ts';
import { createRequestHandler } from '../requests/handle-request.ts';
import { openRequestLogs, type RequestLogs } from '../requests/log/open-request-logs.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { openTracing } from '../telemetry/tracing.ts';
import type { ExchangeHandler } from '../transport/exchange.ts';
import { startTransport, type Transport } from '../transport/start.ts';
import { closeForSuccessor } from './close-for-successor.ts';
import { closeGateway } from './close-gateway.ts';
import type { GatewayContext } from './gateway-context.ts';
import { openAccounting } from './open-accounting.ts';
import { openCheckpointWriter } from './open-checkpoint-writer.ts';
import { openConfiguration } from './open-configuration.ts';
import { NO_ENVOY_DRAIN, openEnvoyDrain } from './open-envoy-drain.ts';
import { openHealthServer, openReadiness } from './open-health-server.ts';
import { openProcessReporter } from './open-process-reporter.ts';
import { type OpenStores, openStores, type StoreRefused } from './open-stores.ts';
import { watchActivity } from './reports/process-report-activity.ts';

/*
 * The composition of a gateway process. In this folder `open-….ts` opens the part of that name, and
 * its result can be closed. `close-….ts` ends the process. `gateway-context.ts` is the environment
 * of each part.
 */

const DRAIN_MARGIN_MS = 5_000;
/** Time for the last rows of the request log and the last spans. */
const LOG_FLUSH_MS = 2_000;

export interface OpenGatewayOptions {
  readonly configPath: string;
  readonly loaded: LoadedConfig;
  readonly paths: RuntimePaths;
  readonly workerIndex: number;
  /** True if a supervisor ends all processes in order, Envoy among them. */
  readonly isSupervised: boolean;
  /** Envoy's host if Envoy is in another network than this process. */
  readonly envoyHost: string | undefined;
  readonly log: Log;
}

export interface OpenGateway {
  readonly kind: 'open';
  /** Resolves when another process keeps the limits, and this one's requests are charged. */
  readonly replaced: Promise<void>;
  /** Drains, then closes all parts. Resolves with the exit status. */
  close(drainMs: number): Promise<0 | 1>;
}

/** Opens all parts, each after those that it needs. Rejects like openStores(). */
export async function openGateway(options: OpenGatewayOptions): Promise<OpenGateway | StoreRefused> {
  const { loaded, paths, workerIndex, log } = options;
  const { version } = packageFile;
  const { metrics, activity } = watchActivity(createMetrics({ workerIndex, version }), clock);
  let current = () => loaded.config;
  const context: GatewayContext = { paths, workerIndex, config: () => current(), clock, metrics, log };
  const { config } = context;
  const stores = await openStores(context, options.isSupervised);
  if (stores.kind === 'refused') return stores;
  const { database, databaseUrl, limits } = stores;

  const logs = openRequestLogs({ databaseUrl, metrics, log, workerIndex, initial: loaded.config });
  const { requestLog, attempts } = logs;
  const money = await openAccounting({ ...context, stores, attempts });
  const tokens = new TokenCounter({ log });
  const delivery = openDelivery(context, stores, tokens);
  const validationTurns = new ValidationTurns();
  const doorTranslator = new DoorTranslator();
  const reasoning = openReasoning(context, stores, validationTurns);
  const envoy = options.isSupervised ? NO_ENVOY_DRAIN : openEnvoyDrain({ paths, log });
  const { accounting } = money;
  const readiness = await openReadiness({ ...options, envoy, accounting, opensInMs: stores.opensInMs });
  const tracing = await openTracing({ target: () => config().tracing, workerIndex, version, clock, metrics, log });
  const configuration = await openConfiguration({ ...context, path: options.configPath, initial: loaded, tracing });
  current = configuration.current;
  const stopKeeping = keepStores(context, database, logs);

  const handler = createRequestHandler({
    ...{ limits, accounting, delivery, clock, metrics, log, requestLog, tracing, config },
    keys: database.keys,
    ledger: ledgerInTurns(database.ledger, stores.turns),
    ...{ turns: stores.turns, claims: money.claims, boundTokens: tokens.boundTokens },
    ...{ reasoning: reasoning.kept, validationTurns, doorTranslator },
    isProbe: readiness.isProbe,
  });
  const transport = await openTransport(context, handler);
  watchRequests(context, transport, delivery);
  const health = await openHealthServer(context, readiness);
  const reporter = openProcessReporter({
    ...{ databaseUrl, workerIndex, paths, log, clock, activity, config },
    configuration: configuration.reported,
    waitingCharges: money.longWaiting,
    requestLog: () => ({ waiting: requestLog.waiting(), dropped: requestLog.dropped() }),
    liveHolds: () => money.holds.live(),
    restingTargets: delivery.restingTargets,
    notReady: readiness.notReady,
  });

  const refuse = readiness.drain;
  async function closeServing(): Promise<void> {
    configuration.close();
    stopKeeping();
    // The last attempts are recorded when their tokens are counted, or estimated from now on.
    for (const one of [reasoning, doorTranslator, tokens]) one.close();
    const flushed = [requestLog, tracing].map((one) => one.close(LOG_FLUSH_MS));
    const recorded = delivery.close().then(() => attempts.close(LOG_FLUSH_MS));
    await Promise.all([...flushed, recorded, reporter.close(), health.close()]);
  }
  const parts = {
    ...{ transport, envoy, money, tokens, log, refuse, closeServing },
    leaveLimits: stores.leave,
    closeStores: () => Promise.all([limits.close(), database.close()]),
  };
  return {
    kind: 'open',
    replaced: stores.takenOver.then(() => closeForSuccessor({ money, log, refuse })),
    close: (drainMs) => closeGateway(parts, drainMs),
  };
}

function openDelivery(
  { paths, clock, metrics, log, config }: GatewayContext,
  { identify }: OpenStores,
  { countTokens }: TokenCounter,
): DeliveryService {
  return createDeliveryService({
    ...{ clock, countTokens, estimateTokens, identify },
    egressSocketPath: paths.egressSocket,
    tokens: new EnvoyTokens(paths.envoyAdminSocket),
    onMemoryRefused: metrics.memoryRefused('answers'),
    keptBodiesBytes: KEPT_BODIES_BYTES / config().workers,
    pickerEvents: {
      onResult: metrics.endpointPicked,
      onChange: (picker, reason) =>
        reason === undefined
          ? log.info({ picker }, 'an endpoint picker works again')
          : log.warn({ picker, reason }, 'an endpoint picker fails, and Envoy chooses endpoints instead'),
    },
  });
}

function openReasoning({ clock, metrics, log }: GatewayContext, { keepReasoning }: OpenStores, turns: ValidationTurns) {
  const onEvicted = (messages: number) => metrics.reasoningKept('evicted', messages);
  const store = keepReasoning({ bounds: REASONING_BOUNDS, clock, onEvicted });
  metrics.watchReasoning(store.heldBytes);
  const kept = createKeptReasoning({
    store,
    turns,
    onResult: metrics.reasoningKept,
    onFault: (error) => log.error({ err: error }, 'reasoning could not be kept or found'),
  });
  return { kept, close: () => store.close() };
}

/** Adds metrics of the memory that requests use, and of resting targets. */
function watchRequests({ config, metrics }: GatewayContext, { bodies }: Transport, delivery: DeliveryService): void {
  metrics.watchMemory(() => [
    { use: 'request_bodies', held: bodies },
    { use: 'answers', held: delivery.responseBudget },
  ]);
  metrics.watchRestingTargets(() => delivery.restingTargets(config().providers.keys()));
}

/** Deletes expired rows, and writes checkpoints. Returns a function that stops this. */
function keepStores(
  { paths, config, metrics, log }: GatewayContext,
  { idempotency, writeCheckpoints }: Postgres,
  logs: RequestLogs,
): () => void {
  const stopDeleting = keepDeletingExpired({
    store: idempotency,
    retentionMs: () => config().idempotencyRetentionMs,
    boundBytes: () => config().idempotencyBytesPerOrganization,
    metrics,
    log,
  });
  const stopCheckpoints = openCheckpointWriter(writeCheckpoints, paths, log);
  logs.keepTidy(() => config().requestLogRetentionMs);
  return () => {
    stopDeleting();
    stopCheckpoints();
  };
}

function openTransport(
  { paths, workerIndex, config, metrics, log }: GatewayContext,
  handler: ExchangeHandler,
): Promise<Transport> {
  return startTransport({
    extProcSocket: paths.extProcSocket(workerIndex),
    streamSocket: paths.streamSocket(workerIndex),
    streamClusterName: streamClusterName(workerIndex),
    onMemoryRefused: metrics.memoryRefused('request_bodies'),
    exchangeDeadlineMs: () => config().timeouts.totalMs * 2 + DRAIN_MARGIN_MS,
    handler,
    onFault: ({ kind, requestId, error }) =>
      log.error({ err: error, request_id: requestId, fault: kind }, 'transport fault'),
  });
}

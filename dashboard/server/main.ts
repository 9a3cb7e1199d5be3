import './thread-pool.ts';

import { flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#core/clock.ts';
import type { DashboardProcessConfig, StripeConfig } from '#core/config/dashboard-config.ts';
import { type LoadedConfig, loadConfig } from '#core/config/load.ts';
import { formatProblem } from '#core/config/problem.ts';
import { type ConfigWatch, watchConfig } from '#core/config/reload.ts';
import { configPath } from '#core/config/runtime-paths.ts';
import { createLog, type Log } from '#core/log/log.ts';
import { shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import { compareModels } from '#core/model-catalogue/model-differences.ts';
import { refuseToStart } from '#core/process-end.ts';
import { reportListening } from '#core/report-listening.ts';
import { collectStartGarbage } from '#core/start-garbage.ts';
import { CHANGE_LIMITS } from '#database/audit/change-counts.ts';
import { recordProxy } from '#database/process-reports/seen-proxies.ts';
import { prepareDatabase } from '#database/schema/prepare.ts';
import { explainUnavailable, untilUsable } from '#database/until-usable.ts';
import { sendAlerts } from './alerts/send-alerts.ts';
import { createApp } from './app.ts';
import { type Background, repeat } from './background/repeat.ts';
import { DashboardTurns } from './fairness/dashboard-turns.ts';
import { Places } from './fairness/places.ts';
import { openBackground, openDatabase, openEntry } from './fairness/stores.ts';
import { responsesDone } from './http/after-response.ts';
import { TABLE_PLACES } from './http/csv-downloads.ts';
import { risksOf, settingsOf } from './http/settings.ts';
import { loadStaticFiles } from './http/static-files.ts';
import { watchProxies } from './http/untrusted-proxies.ts';
import { listenOn } from './listen.ts';
import { createIssuers } from './oidc/issuers.ts';
import { topUpAutomatically } from './payments/automatic.ts';
import { readOpenPayments } from './payments/open-payments.ts';
import type { PaymentDeps } from './payments/settle.ts';
import { Playground } from './playground/playground.ts';
import { ROUTES } from './routes.ts';

const PAGE_FOLDER = fileURLToPath(new URL('../dist/', import.meta.url));
/** Even under load an organization needs minutes to spend the amount of its threshold. */
const AUTOMATIC_EVERY_MS = 5_000;
const OPEN_EVERY_MS = 15_000;

const path = configPath(process.env);

/** Loads only the dashboard's secrets: it calls no provider and no collector, and has no limits. */
const load = () => loadConfig(path, process.env, { secrets: 'dashboard' });

/**
 * The dashboard process. Opens configuration, database, page and listener in this order. Then tells
 * the supervisor that it listens. Ends on SIGTERM, or when the supervisor is gone.
 */
async function main(): Promise<void> {
  const loaded = await load();
  if (!loaded.ok) return refuseToStart(loaded.problems.map(formatProblem).join('\n'));
  const { postgres } = loaded.config.stores;
  if (postgres.kind === 'embedded') {
    return refuseToStart(
      'The embedded PostgreSQL is started by `npm start`. To run this process alone, set DATABASE_URL.',
    );
  }
  const log = createLog(process.env.LOG_LEVEL).child({ process: 'dashboard' });
  const open = () => openPrepared(postgres.url, log);
  // In a container the first process has no default signal handlers, and it may be waiting for the
  // database.
  const endAtOnce = () => process.exit(0);
  process.once('SIGTERM', endAtOnce);
  const opening = process.connected ? open() : untilUsable(open, log);
  const prepared = await opening.catch(explainUnavailable);
  process.off('SIGTERM', endAtOnce);
  await serve(loaded, postgres.url, prepared, log);
}

/** Prepares the database, with the connections of alerts and payments. */
async function openPrepared(url: string, log: Log) {
  const background = openBackground(url, log);
  const stopPreparing = await prepareDatabase(url, background, log).catch(async (error: unknown) => {
    await background.end();
    throw error;
  });
  return { background, stopPreparing };
}

async function serve(
  loaded: LoadedConfig<DashboardProcessConfig>,
  databaseUrl: string,
  { background, stopPreparing }: Awaited<ReturnType<typeof openPrepared>>,
  log: Log,
): Promise<void> {
  const database = openDatabase(databaseUrl, log);
  const entry = openEntry(databaseUrl, log);
  const config = followConfig(loaded, log);
  const catalogue = await shippedCatalogue();
  const deps = {
    log,
    database,
    entry,
    turns: new DashboardTurns(),
    changeLimits: CHANGE_LIMITS,
    playground: new Playground(),
    tables: new Places(TABLE_PLACES),
    settings: () => settingsOf(config.current()),
    priceLists: () => config.declared().priceLists,
    compareWithCatalogue: () => ({
      asOf: catalogue.as_of,
      ...compareModels(config.declared(), catalogue, Date.now()),
    }),
    nowMs: () => Date.now(),
    issuers: createIssuers(log, systemClock),
    untrustedProxies: watchProxies(log, systemClock, (address) => recordProxy(database, address)),
  };
  const alerts = sendAlerts(background, deps, log);
  const payments = watchPayments({ database: background, nowMs: deps.nowMs, log }, () => config.current().stripe);
  const app = createApp(ROUTES, deps, await loadStaticFiles(PAGE_FOLDER), log);
  const listener = await listenOn(app, loaded.config.listen.dashboard).catch((error: Error) =>
    explainNotListening(loaded.config, error),
  );
  if (listener === undefined) return;
  log.info({ pid: process.pid }, 'the dashboard listens');
  reportListening();
  onceAskedToEnd(log, async () => {
    await Promise.all([listener.close(), alerts.close(), payments.close()]);
    await responsesDone();
    config.close();
    stopPreparing();
    await Promise.all([database.end(), entry.end(), background.end()]);
  });
  // Flushed now, because a process that is killed later does not flush at its exit. With the cache
  // the next start needs half the CPU.
  flushCompileCache();
  await collectStartGarbage();
}

function followConfig(initial: LoadedConfig<DashboardProcessConfig>, log: Log): ConfigWatch<DashboardProcessConfig> {
  for (const text of risksOf(initial.config)) log.warn(text);
  const config = watchConfig({
    path,
    load,
    initial,
    apply: async () => ({ ok: true }),
    onProblems(problems) {
      for (const problem of problems) log.error(`configuration not reloaded: ${formatProblem(problem)}`);
    },
    onChange(current, { warnings }) {
      log.info('configuration reloaded');
      for (const text of [...warnings.map(formatProblem), ...risksOf(current)]) log.warn(text);
    },
  });
  process.on('SIGHUP', () => void config.reload());
  return config;
}

/**
 * Checks for balances below their threshold and for payments without an event, until it is closed.
 * `config` returns undefined while payments are off.
 */
function watchPayments(deps: PaymentDeps, config: () => StripeConfig | undefined): Background {
  const whileOn = (work: (config: StripeConfig, deps: PaymentDeps) => Promise<void>) => async () => {
    const stripe = config();
    if (stripe !== undefined) await work(stripe, deps);
  };
  const watches = [
    repeat(AUTOMATIC_EVERY_MS, deps.log, 'automatic top-ups must wait', whileOn(topUpAutomatically)),
    repeat(OPEN_EVERY_MS, deps.log, 'open payments must wait to be read', whileOn(readOpenPayments)),
  ];
  return { close: async () => void (await Promise.all(watches.map((watch) => watch.close()))) };
}

function onceAskedToEnd(log: Log, end: () => Promise<void>): void {
  let ending = false;
  const begin = () => {
    if (ending) return;
    ending = true;
    end().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the dashboard did not end in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', begin);
  process.on('SIGINT', begin);
  // The supervisor was killed, so nothing would restart or stop this process.
  process.on('disconnect', begin);
}

function explainNotListening({ listen }: DashboardProcessConfig, error: Error): undefined {
  refuseToStart(`The dashboard cannot listen on ${listen.dashboard.host}:${listen.dashboard.port}: ${error.message}`);
}

await main();

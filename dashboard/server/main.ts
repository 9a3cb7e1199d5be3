import { fileURLToPath } from 'node:url';
import { type ServerType, serve } from '@hono/node-server';
import { loadConfig } from '../../ext-proc/config/load.ts';
import { formatProblem } from '../../ext-proc/config/problem.ts';
import { watchConfig } from '../../ext-proc/config/reload.ts';
import { openPostgres } from '../../ext-proc/stores/postgres/open.ts';
import { createLog } from '../../ext-proc/telemetry/log.ts';
import { createApp } from './app.ts';
import { ROUTES } from './routes.ts';
import { settingsOf } from './settings.ts';
import { loadStaticFiles } from './static-files.ts';
import { openDatabase } from './stores.ts';

/** The dashboard process: configuration, database, page, listener; then `{type: 'listening'}` to the supervisor. Ends on SIGTERM. */

/** The supervisor does not restart what ended with this status: the message on standard error says what to change. */
const EXIT_CONFIGURATION = 78;
const CLOSE_MS = 3_000;
const PAGE_FOLDER = fileURLToPath(new URL('../dist/', import.meta.url));

async function main(): Promise<void> {
  const configPath = process.env.GATEWAY_CONFIG ?? 'config/gateway.yaml';
  const loaded = await loadConfig(configPath, process.env);
  if (!loaded.ok) return refuseToStart(loaded.problems.map(formatProblem).join('\n'));
  const { postgres } = loaded.config.stores;
  if (postgres.kind === 'embedded') {
    return refuseToStart(
      'The embedded PostgreSQL is started by `npm start`. To run this process alone, set DATABASE_URL.',
    );
  }
  const log = createLog(process.env.LOG_LEVEL ?? 'info').child({ process: 'dashboard' });
  const stores = await openPostgres({ url: postgres.url, log });
  const database = openDatabase(postgres.url, log);
  const config = watchConfig({
    path: configPath,
    env: process.env,
    initial: loaded,
    apply: async () => ({ ok: true }),
    onProblems: (problems) => log.error(`configuration not reloaded: ${problems.map(formatProblem).join('; ')}`),
    onChange: () => log.info('configuration reloaded'),
  });
  const deps = {
    database,
    administration: stores.administration,
    settings: () => settingsOf(config.current()),
    nowMs: () => Date.now(),
  };
  const app = createApp(ROUTES, deps, await loadStaticFiles(PAGE_FOLDER), log);
  const { host, port } = loaded.config.listen.dashboard;
  const server = serve({ fetch: app.fetch, hostname: host, port }, () => {
    log.info({ pid: process.pid }, 'the dashboard listens');
    process.send?.({ type: 'listening' });
  });
  server.on('error', (error) => refuseToStart(`The dashboard cannot listen on ${host}:${port}: ${error.message}`));
  onceAskedToEnd(async () => {
    await closeServer(server);
    config.close();
    await Promise.all([database.end(), stores.close()]);
  });
}

function closeServer(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CLOSE_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    if ('closeIdleConnections' in server) server.closeIdleConnections();
  });
}

function onceAskedToEnd(end: () => Promise<void>): void {
  let ending = false;
  const begin = () => {
    if (ending) return;
    ending = true;
    end().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', begin);
  process.on('SIGINT', begin);
  // The supervisor was killed: nobody would restart or stop this process any more.
  process.on('disconnect', begin);
}

function refuseToStart(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exit(EXIT_CONFIGURATION);
}

await main();

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { CountReporter } from './test/count-reporter.ts';
import { PATIENCE_MS } from './test/fixtures/patience.ts';
import { chooseLauncher } from './test/launchers/choose.ts';
import { makeMemoryFolder } from './test/launchers/memory-folder.ts';
import { SPECIAL } from './test/special.ts';

const named = (...names: string[]) => names.map((name) => `test/${name}.test.ts`);

/** Tests that put load on the machine or measure time. They run alone: no `fileParallelism`. */
const MEASURING = named(
  'integration/processes/load',
  'integration/processes/crash',
  'integration/chat/protocols',
  'integration/money/cut-replays',
  'integration/chat/validation-cpu',
  'integration/chat/validation-turns',
);

const BROWSER = ['test/browser/**/*.test.ts'];
/** The browser test of `npm test`: a customer's first day. */
const BROWSER_IN_SHORT = named('browser/journey');

/**
 * Tests of whole installations: set-up, supervisor, workers, other users, Redis Cluster, alerts.
 * They take a third of the CPU of `integration`, so they are a project of their own.
 */
const INSTALLATIONS = named(
  'alert-rules',
  'set-up-compiled',
  'set-up-environment',
  'set-up-page',
  'contract/redis-cluster-masters',
  'contract/redis-cluster-moves',
  'contract/redis-cluster-outage',
  'contract/start-failures',
  'integration/configuration/supervised-reload',
  'integration/dashboard/first-sign-in',
  'integration/dashboard/process',
  'integration/dashboard/proxies',
  'integration/dashboard/supervised',
  'integration/dashboard/unread-keys',
  'integration/money/charges-in-files',
  'integration/observability/grafana-queries',
  'integration/observability/request-log-refused',
  'integration/observability/tracing',
  'integration/processes/supervisor',
  'integration/processes/workers',
  'integration/security/other-users',
  'integration/security/secret-memory',
  'integration/security/secrets',
  'integration/security/unreadable-secrets',
);

/** Client libraries and agents: they run in `clients`, not in `integration`. */
const CLIENTS = ['test/sdk/{*-agent,sdks}.test.ts'];

/** Long tests, and tests of rare events. They run alone. */
const LONG = named(
  'architecture/imports',
  'faults/soak',
  'faults/never-reading-clients',
  'faults/stops-under-load',
  'deploy/envoy-drain',
  'integration/transport/load',
  'integration/processes/storm',
  'integration/processes/kill-under-load',
  'integration/dashboard/speed',
  'integration/dashboard/hostile-issuer',
  'integration/dashboard/silent-stripe',
  'integration/processes/late-stores',
  'integration/providers/endpoints-under-load',
  'bench/ratio',
  'bench/footprint',
  'contract/stripe-orders-many',
);

/** Files in the folders of `unit`, `contract` and `integration` that run in other projects. */
const ELSEWHERE = [...INSTALLATIONS, ...SPECIAL, ...LONG];

const moved = [...ELSEWHERE, ...MEASURING].filter((path) => !existsSync(join(import.meta.dirname, path)));
if (moved.length > 0) throw new Error(`Lists of tests name files that do not exist: ${moved.join(', ')}`);

/**
 * Tests that need Docker, Helm or a Kubernetes. In CI they are left out if the program is missing;
 * elsewhere they fail and say what is missing. CONTAINERS builds and starts docker-compose.yml,
 * CLUSTER starts a Kubernetes.
 */
const CONTAINERS = named('deploy/compose');
const HELM = named('deploy/helm');
const CLUSTER = named('deploy/cluster', 'deploy/cluster-helm', 'deploy/cluster-picker');
const leavesOut = (program: string, argument: string): boolean =>
  process.env.CI === 'true' && spawnSync(program, [argument], { stdio: 'ignore', timeout: 30_000 }).status !== 0;
const withoutContainers = leavesOut('docker', 'info');
const withoutHelm = leavesOut('helm', 'version');
const withoutCluster = leavesOut('bash', join(import.meta.dirname, 'test/deploy/has-cluster.sh'));

/** The worker processes read the launcher from the environment. */
const { name: launcher, because } = chooseLauncher();
process.env.TEST_LAUNCHER = launcher;
process.stderr.write(`Envoy, PostgreSQL and Redis: ${launcher} (${because}).\n`);

/** Containers write to disk, because each has a small `/dev/shm`. */
const memoryFolder = launcher === 'binaries' && process.env.TMPDIR === undefined ? makeMemoryFolder() : undefined;
if (memoryFolder !== undefined) process.env.TMPDIR = memoryFolder;

/**
 * Compile cache of vitest and of the processes that tests start. Without it a start costs half as
 * much again. Set-up has filled it with the programs.
 */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '.cache/compiled');

/** Time limits of tests that wait. They are long, because a slow machine is no failure. */
const PATIENT = {
  testTimeout: 2 * PATIENCE_MS,
  hookTimeout: 2 * PATIENCE_MS,
  expect: { poll: { timeout: PATIENCE_MS } },
};

const DATABASE = { globalSetup: ['test/harness/postgres-server.ts'] };

/**
 * Test files share processes, because loading the same modules for 300 files took half of the CPU.
 * So a test restores what it changes: clock, environment, globals.
 */
const SHARING = {
  ...PATIENT,
  isolate: false,
  // As in gateway processes. With the default of 16 MiB unit tests take an eighth more CPU.
  execArgv: ['--max-semi-space-size=32'],
  setupFiles: ['test/harness/property-sizes.ts', 'test/harness/leak-check.ts'],
};

/** Files of these run one after the other. */
const ALONE = { ...PATIENT, ...DATABASE, fileParallelism: false };

export default defineConfig({
  test: {
    reporters: ['default', new CountReporter()],
    // Otherwise each project translates all modules again, in every run.
    experimental: { fsModuleCache: true, fsModuleCachePath: join(import.meta.dirname, '.cache/vitest') },
    projects: [
      {
        test: {
          name: 'unit',
          ...SHARING,
          include: [
            'contract/**/*.test.ts',
            'core/**/*.test.ts',
            'database/**/*.test.ts',
            'ext-proc/**/*.test.ts',
            'packages/**/*.test.ts',
            'envoy/**/*.test.ts',
            'operator/**/*.test.ts',
            'supervisor/**/*.test.ts',
            'demo/**/*.test.ts',
            'scripts/**/*.test.ts',
            'dashboard/**/*.test.ts',
            'test/*.test.ts',
            'test/architecture/*.test.ts',
            'test/bench/*.test.ts',
            'test/config/*.test.ts',
            'test/launchers/{choose,free-ports}.test.ts',
            'test/provider/*.test.ts',
          ],
          exclude: ELSEWHERE,
        },
      },
      {
        test: {
          name: 'contract',
          ...SHARING,
          ...DATABASE,
          include: ['test/contract/**/*.test.ts'],
          exclude: ELSEWHERE,
        },
      },
      {
        test: {
          name: 'integration',
          ...SHARING,
          ...DATABASE,
          include: [
            'test/integration/**/*.test.ts',
            'test/sdk/**/*.test.ts',
            ...BROWSER_IN_SHORT,
            'test/deploy/*.test.ts',
            ...(launcher === 'containers' ? ['test/launchers/leftovers.test.ts'] : []),
          ],
          exclude: [...ELSEWHERE, ...MEASURING, ...CLIENTS, ...CONTAINERS, ...CLUSTER, ...(withoutHelm ? HELM : [])],
        },
      },
      { test: { name: 'browser', ...SHARING, ...DATABASE, include: BROWSER, exclude: BROWSER_IN_SHORT } },
      { test: { name: 'installations', ...SHARING, ...DATABASE, include: INSTALLATIONS } },
      { test: { name: 'special', ...SHARING, ...DATABASE, include: SPECIAL } },
      { test: { name: 'faults', ...ALONE, include: ['test/faults/**/*.test.ts'], exclude: LONG } },
      { test: { name: 'measuring', ...ALONE, include: MEASURING } },
      {
        test: {
          name: 'long',
          ...ALONE,
          include: [...LONG, ...(withoutContainers ? [] : CONTAINERS), ...(withoutCluster ? [] : CLUSTER)],
        },
      },
      { test: { name: 'openapi', ...PATIENT, ...DATABASE, include: ['test/openapi/*.test.ts'] } },
      { test: { name: 'stripe', ...PATIENT, ...DATABASE, include: ['test/stripe-mock/*.test.ts'] } },
      {
        test: {
          name: 'clients',
          ...PATIENT,
          ...DATABASE,
          // Some of these programs compute for ten seconds before their first request.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxConcurrency: 3,
          include: ['test/clients/*.test.ts', 'test/agents/*.test.ts', ...CLIENTS],
        },
      },
    ],
  },
});

/**
 * `npm test`: types, lint and the tests. Arguments are passed to vitest, as in `npm test -- supervisor`. With CI=true really all of them, and a
 * skipped one counts as failed. The last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestCounts } from './count-reporter.ts';

interface VitestRun {
  readonly projects: readonly string[];
  /** Most tests wait more than they compute, so more of them run side by side than there are cores; what measures has the machine alone. */
  readonly maxWorkers: number;
  /** In CI, or when somebody asks for its files: it would more than double the minutes that everybody waits. */
  readonly asked?: true;
}

const VITEST_RUNS: readonly VitestRun[] = [
  { projects: ['unit', 'contract', 'integration'], maxWorkers: 4 },
  { projects: ['measuring'], maxWorkers: 1 },
  { projects: ['faults'], maxWorkers: 2, asked: true },
  { projects: ['long'], maxWorkers: 1, asked: true },
];
const RUN_TIMEOUT_MS = 30 * 60_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const inCi = process.env.CI === 'true';
const filters = process.argv.slice(2);

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(join(root, 'node_modules', '.bin', command), args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: RUN_TIMEOUT_MS,
    });
    child.once('exit', (code) => resolve(code === 0));
    child.once('error', (error) => {
      process.stderr.write(`${command}: ${error.message}\n`);
      resolve(false);
    });
  });
}

async function runVitest({ projects, maxWorkers }: VitestRun, countsFile: string): Promise<TestCounts> {
  const args = [
    'run',
    ...projects.flatMap((name) => ['--project', name]),
    '--passWithNoTests',
    `--maxWorkers=${maxWorkers}`,
    ...filters,
  ];
  const ok = await run('vitest', args, { TEST_COUNTS: countsFile });
  const counts = readCounts(countsFile);
  // A run that ended badly must show, whatever it managed to count before.
  return ok || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

function readCounts(file: string): TestCounts {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as TestCounts;
  } catch {
    return { passed: 0, failed: 1, skipped: [] };
  }
}

async function runChecks(): Promise<TestCounts> {
  let passed = 0;
  let failed = 0;
  // What did not change since is not checked again: a sixth of the time.
  const types = (name: string) => [
    'tsc',
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    `.cache/types/${name}.json`,
  ];
  for (const [command = '', ...args] of [
    types('all'),
    [...types('web'), '-p', 'dashboard/web'],
    ['biome', 'check', '.'],
  ]) {
    const ok = await run(command, args);
    process.stdout.write(`${ok ? 'passed' : 'FAILED'}: ${command} ${args.join(' ')}\n`);
    if (ok) passed += 1;
    else failed += 1;
  }
  return { passed, failed, skipped: [] };
}

const runs = VITEST_RUNS.filter(({ asked }) => !asked || inCi || filters.length > 0);
const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
const all: TestCounts[] = filters.length === 0 ? [await runChecks()] : [];
try {
  for (const each of runs) all.push(await runVitest(each, join(folder, `${each.projects.join('-')}.json`)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const skipped = all.flatMap((counts) => counts.skipped);
if (skipped.length > 0) {
  process.stdout.write(`\nSkipped${inCi ? ', which counts as failed with CI=true' : ''}:\n`);
  for (const { test, reason } of skipped) process.stdout.write(`  ${test}\n    ${reason}\n`);
}
if (runs.length < VITEST_RUNS.length) {
  process.stdout.write(
    '\nNot run: test/faults, processes killed under load, a dashboard of many rows, bench ratio, docker-compose. `CI=true npm test` runs everything.\n',
  );
}
const passed = all.reduce((sum, counts) => sum + counts.passed, 0);
const failed = all.reduce((sum, counts) => sum + counts.failed, 0) + (inCi ? skipped.length : 0);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);

/**
 * `npm test` runs type checks, lint and tests. Arguments are passed to vitest, as in `npm test --
 * supervisor`. With CI=true it runs all tests, and a skipped one counts as failed. The last line is
 * `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NamedTest, TestCounts } from './count-reporter.ts';
import { QUARANTINE } from './quarantine.ts';

interface VitestRun {
  readonly projects: readonly string[];
  /**
   * Most tests wait more than they compute, so more of them run in parallel than there are cores.
   * Tests that measure, or that kill processes under load, run alone on the machine.
   */
  readonly maxWorkers: number;
  /**
   * True if it runs only in CI or when its files are named, because it would more than double the
   * duration of `npm test`.
   */
  readonly asked?: true;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const inCi = process.env.CI === 'true';
const filters = process.argv.slice(2);

const VITEST_RUNS: readonly VitestRun[] = [
  // CI has time for less parallelism, which lets tests disturb each other less.
  { projects: ['contract', 'integration'], maxWorkers: inCi ? 2 : 4 },
  { projects: ['unit'], maxWorkers: 2 },
  { projects: ['browser', 'installations', 'special'], maxWorkers: 2, asked: true },
  { projects: ['clients'], maxWorkers: 2, asked: true },
  { projects: ['openapi'], maxWorkers: 1, asked: true },
  { projects: ['stripe'], maxWorkers: 1, asked: true },
  { projects: ['measuring'], maxWorkers: 1, asked: true },
  { projects: ['faults'], maxWorkers: 1, asked: true },
  { projects: ['long'], maxWorkers: 1, asked: true },
];
/** Unit tests compute while the others wait. */
const SIDE_BY_SIDE = inCi || filters.length > 0 ? 1 : 2;
const RUN_TIMEOUT_MS = 45 * 60_000;
/** If more files than this failed, none is rerun alone: so many failures are no disturbance. */
const MOST_FILES_ALONE = 5;

/** Output goes to `onOutput` if given, otherwise to the terminal. */
function run(
  command: string,
  args: readonly string[],
  { env = {}, onOutput }: { readonly env?: NodeJS.ProcessEnv; readonly onOutput?: (piece: Buffer) => void } = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const output = onOutput === undefined ? 'inherit' : 'pipe';
    const child = spawn(join(root, 'node_modules', '.bin', command), args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', output, output],
      timeout: RUN_TIMEOUT_MS,
    });
    for (const stream of [child.stdout, child.stderr]) if (onOutput) stream?.on('data', onOutput);
    child.once('close', (code) => resolve(code === 0));
    child.once('error', (error) => {
      process.stderr.write(`${command}: ${error.message}\n`);
      resolve(false);
    });
  });
}

/** Without `isShown` its output is printed when it has ended. */
async function runVitest(
  { projects, maxWorkers }: Omit<VitestRun, 'asked'>,
  files: readonly string[],
  isShown = true,
): Promise<readonly TestCounts[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const countsFile = join(folder, 'counts.json');
  const args = [
    'run',
    ...projects.flatMap((name) => ['--project', name]),
    '--passWithNoTests',
    `--maxWorkers=${maxWorkers}`,
    ...files,
  ];
  try {
    const output: Buffer[] = [];
    const kept = isShown ? {} : { onOutput: (piece: Buffer) => output.push(piece) };
    const ok = await run('vitest', args, { env: { TEST_COUNTS: countsFile }, ...kept });
    process.stdout.write(Buffer.concat(output));
    const counts = readCounts(countsFile);
    // A run that ended badly must count as failed, whatever it counted before.
    return ok || counts.some(({ failed }) => failed.length > 0) ? counts : [...counts, failure(projects.join(', '))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCounts(file: string): readonly TestCounts[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as readonly TestCounts[];
  } catch {
    return [];
  }
}

function failure(test: string): TestCounts {
  return { passed: 0, failed: [{ test, reason: 'ended badly, see above' }], skipped: [] };
}

/**
 * Reruns each failed file alone, for the report only: a test that then passes was disturbed by its
 * neighbours or depends on another file. Returns the names of the tests that passed alone.
 */
async function passedAlone(counts: readonly TestCounts[]): Promise<ReadonlySet<string>> {
  const passed = new Set<string>();
  const files = counts.filter(({ file, failed }) => file !== undefined && failed.length > 0);
  if (files.length > MOST_FILES_ALONE) return passed;
  for (const { file, failed } of files) {
    if (file === undefined) continue;
    process.stdout.write(`\nAlone, for the report: ${file.path}\n`);
    const alone = await runVitest({ projects: [file.project], maxWorkers: 1 }, [file.path]);
    const failedAgain = alone.flatMap((again) => again.failed.map(({ test }) => test));
    // A run that did not find the file proves nothing about its tests.
    if (!alone.some((again) => again.file?.path === file.path)) continue;
    for (const { test } of failed) if (!failedAgain.includes(test)) passed.add(test);
  }
  return passed;
}

/**
 * The checks run in parallel with each other and with the first tests, which wait more than they
 * compute. The output of a check is printed when it has ended.
 */
function runChecks(): Promise<readonly TestCounts[]> {
  // Incremental, which takes a sixth of the time because unchanged files are not checked again.
  // Named by its path, because `tsc` is also a binary of TypeScript 5, which dependency-cruiser
  // uses.
  const types = (name: string) => [
    'node',
    'node_modules/typescript/bin/tsc',
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    `.cache/types/${name}.json`,
  ];
  const checks = [
    types('all'),
    [...types('web'), '-p', 'dashboard/web'],
    ['node', 'test/lint.ts'],
    ['node', 'scripts/check-prose.ts'],
    ['node', 'test/architecture/function-lengths.ts'],
  ];
  return Promise.all(
    checks.map(async ([command = '', ...args]) => {
      const output: Buffer[] = [];
      const ok = await run(command, args, { onOutput: (piece) => output.push(piece) });
      const shown = ok ? '' : Buffer.concat(output).toString();
      process.stdout.write(`${shown}${ok ? 'passed' : 'FAILED'}: ${command} ${args.join(' ')}\n`);
      return ok ? { passed: 1, failed: [], skipped: [] } : failure(command);
    }),
  );
}

function report(heading: string, tests: readonly NamedTest[]): void {
  if (tests.length === 0) return;
  process.stdout.write(`\n${heading}:\n`);
  for (const { test, reason } of tests) process.stdout.write(`  ${test}\n    ${reason}\n`);
}

const runs = VITEST_RUNS.filter(({ asked }) => !asked || inCi || filters.length > 0);
const counts: TestCounts[] = (
  await Promise.all([
    filters.length === 0 ? runChecks() : [],
    ...runs.slice(0, SIDE_BY_SIDE).map((each, index) => runVitest(each, filters, index === 0)),
  ])
).flat();
for (const each of runs.slice(SIDE_BY_SIDE)) counts.push(...(await runVitest(each, filters)));

const inQuarantine = ({ test }: NamedTest) => QUARANTINE.some((entry) => entry.test === test);
const allFailed = counts.flatMap(({ failed }) => failed);
const failed = allFailed.filter((each) => !inQuarantine(each));
const skipped = counts.flatMap((each) => each.skipped);
const alone = inCi ? await passedAlone(counts) : new Set<string>();
report(`Skipped${inCi ? ', which counts as failed with CI=true' : ''}`, skipped);
if (runs.length < VITEST_RUNS.length) {
  process.stdout.write(
    '\nNot run: the projects browser, installations, special, clients, openapi, stripe, measuring, faults and long of test/README.md. `CI=true npm test` runs everything.\n',
  );
}
report('In quarantine, failed, not counted', allFailed.filter(inQuarantine));
report(
  'Failed, passed alone: disturbed by its neighbours, or leaning on another file',
  failed.filter(({ test }) => alone.has(test)),
);
report(
  'Failed',
  failed.filter(({ test }) => !alone.has(test)),
);
const passedCount = counts.reduce((sum, { passed }) => sum + passed, 0);
const failedCount = failed.length + (inCi ? skipped.length : 0);
process.exitCode = failedCount === 0 && passedCount > 0 ? 0 : 1;
process.stdout.write(`\n${passedCount} passed, ${failedCount} failed\n`);

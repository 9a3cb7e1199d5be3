/**
 * `npm test`: types, lint and the tests. Arguments are passed to vitest, as in `npm test -- supervisor`. With CI=true really all of them, and a
 * skipped one counts as failed. The last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NamedTest, TestCounts } from './count-reporter.ts';

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
/** More files than this are not run again. */
const MAX_FILES_AGAIN = 5;

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

async function runVitest({ projects, maxWorkers }: Omit<VitestRun, 'asked'>, files: readonly string[]) {
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
    const ok = await run('vitest', args, { TEST_COUNTS: countsFile });
    const counts = readCounts(countsFile);
    // A run that ended badly must show, whatever it managed to count before.
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
 * Runs files that failed once more, each with the machine for itself: it tells what is broken from what four neighbours disturbed. More than a
 * few of them are no disturbance.
 */
async function runAgain(counts: readonly TestCounts[]): Promise<readonly TestCounts[]> {
  const isAgain = ({ file, failed }: TestCounts) => file !== undefined && failed.length > 0;
  if (counts.filter(isAgain).length > MAX_FILES_AGAIN) return counts;
  const again: TestCounts[] = [];
  for (const each of counts) {
    if (each.file === undefined || !isAgain(each)) {
      again.push(each);
      continue;
    }
    const { path, project } = each.file;
    process.stdout.write(`\nOnce more, by itself: ${path}\n`);
    const second = await runVitest({ projects: [project], maxWorkers: 1 }, [path]);
    // A run that did not find the file proves nothing.
    again.push(...(second.some(({ file }) => file?.path === path) ? second : [each]));
  }
  return again;
}

/** Side by side: each has stretches in which it uses one core. */
function runChecks(): Promise<readonly TestCounts[]> {
  // Unchanged files are not checked again: a sixth of the time.
  const types = (name: string) => [
    'tsc',
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    `.cache/types/${name}.json`,
  ];
  const checks = [types('all'), [...types('web'), '-p', 'dashboard/web'], ['biome', 'check', '.']];
  return Promise.all(
    checks.map(async ([command = '', ...args]) => {
      const ok = await run(command, args);
      process.stdout.write(`${ok ? 'passed' : 'FAILED'}: ${command} ${args.join(' ')}\n`);
      return ok ? { passed: 1, failed: [], skipped: [] } : failure(command);
    }),
  );
}

function tell(heading: string, tests: readonly NamedTest[]): void {
  if (tests.length === 0) return;
  process.stdout.write(`\n${heading}:\n`);
  for (const { test, reason } of tests) process.stdout.write(`  ${test}\n    ${reason}\n`);
}

const runs = VITEST_RUNS.filter(({ asked }) => !asked || inCi || filters.length > 0);
const first: TestCounts[] = filters.length === 0 ? [...(await runChecks())] : [];
for (const each of runs) first.push(...(await runVitest(each, filters)));
const final = inCi ? await runAgain(first) : first;

const failed = final.flatMap((counts) => counts.failed);
const skipped = final.flatMap((counts) => counts.skipped);
tell(`Skipped${inCi ? ', which counts as failed with CI=true' : ''}`, skipped);
if (runs.length < VITEST_RUNS.length) {
  process.stdout.write(
    '\nNot run: the projects faults and long of test/README.md. `CI=true npm test` runs everything.\n',
  );
}
const firstOnly = first
  .flatMap((counts) => counts.failed)
  .filter(({ test }) => !failed.some((each) => each.test === test));
tell('Failed beside others, passed alone', firstOnly);
tell('Failed', failed);
const passedCount = final.reduce((sum, { passed }) => sum + passed, 0);
const failedCount = failed.length + (inCi ? skipped.length : 0);
process.exitCode = failedCount === 0 && passedCount > 0 ? 0 : 1;
process.stdout.write(`\n${passedCount} passed, ${failedCount} failed\n`);

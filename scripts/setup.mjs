// Makes a fresh clone runnable: dependencies, compiled programs, Envoy, the dashboard's page, and
// with --test the Python packages of the tests. With --clients it installs the client libraries
// and agents that the project `clients` runs, with --openapi Schemathesis, with --stripe-mock
// Stripe's stand-in, and in CI with --test all of them. Plain
// JavaScript without dependencies, because it runs on Node 20 before anything is installed. Prints
// to standard error only: the output of the command after it stays clean. With --quiet, for
// commands that serve no page, it prints problems only and builds none.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lockFile } from '#core/lock/file-lock.mjs';
import { CLIENT_STEPS } from './setup/clients.mjs';
import { findNodeProblem, installDependencies } from './setup/dependencies.mjs';
import { envoyIsReady, installEnvoy } from './setup/envoy.mjs';
import { ownNode, PYTHON_SETTINGS, runCommand } from './setup/run-command.mjs';
import { digestOf, hasStamp, writeStamp } from './setup/stamp.mjs';
import { STRIPE_MOCK_STEP } from './setup/stripe-mock.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const quiet = process.argv.includes('--quiet');
const forTests = process.argv.includes('--test');
const withClients = process.argv.includes('--clients') || (forTests && process.env.CI === 'true');
const withSchemathesis = process.argv.includes('--openapi') || (forTests && process.env.CI === 'true');
const withStripeMock = process.argv.includes('--stripe-mock') || (forTests && process.env.CI === 'true');
const LONGEST_WAIT_SECONDS = 20 * 60;
/** Folders that the page may import from (test/architecture/import-order.ts). */
const PAGE_SOURCES = ['package-lock.json', 'core', 'contract', 'dashboard/web', 'docs'];

/**
 * In their order. A step is done when its folder was made from its sources as they are now. `make`
 * returns a problem or undefined; one that is not `needed` is reported, and the rest goes on.
 */
const STEPS = [
  { folder: 'node_modules', sources: ['package-lock.json'], make: installDependencies, needed: true },
  { folder: '.cache/compiled', sources: ['package-lock.json'], make: compilePrograms, needed: true },
  { isDone: envoyIsReady, make: installEnvoy, needed: true },
  { folder: 'dashboard/dist', sources: PAGE_SOURCES, make: buildPage, isLeftOut: quiet },
  {
    folder: '.cache/python',
    sources: ['test/requirements.txt'],
    make: () => installPython('.cache/python', 'test/requirements.txt'),
    isLeftOut: !forTests,
  },
  {
    folder: '.cache/schemathesis',
    sources: ['test/openapi/requirements.txt'],
    make: () => installPython('.cache/schemathesis', 'test/openapi/requirements.txt'),
    isLeftOut: !withSchemathesis,
  },
  { ...STRIPE_MOCK_STEP, isLeftOut: !withStripeMock },
  ...CLIENT_STEPS.map((step) => ({ ...step, isLeftOut: !withClients })),
].filter(({ isLeftOut }) => !isLeftOut);

function say(text) {
  if (!quiet) process.stderr.write(`${text}\n`);
}

/**
 * Fills NODE_COMPILE_CACHE of `npm start` and of the operator's commands: with it a program is
 * loaded at half the CPU (measured). Each program ends as soon as it is loaded: there is no such
 * configuration, no such port, and no command.
 */
function compilePrograms() {
  say('Compiling …');
  const compiled = join(root, '.cache/compiled');
  mkdirSync(compiled, { recursive: true });
  const env = { NODE_COMPILE_CACHE: compiled, GATEWAY_CONFIG: join(compiled, 'none.yaml') };
  for (const program of ['supervisor', 'supervisor/startup', 'ext-proc', 'dashboard/server', 'operator'])
    runCommand(ownNode(root), [`${program}/main.ts`], { cwd: root, env });
  runCommand(ownNode(root), ['demo/provider.ts', '--port', 'none'], { cwd: root, env });
}

function buildPage() {
  say("Building the dashboard's page …");
  const args = ['node_modules/vite/bin/vite.js', 'build', 'dashboard/web', '--logLevel', 'warn'];
  // With NODE_ENV=test React would be the one for development.
  const env = { NODE_ENV: 'production', NO_COLOR: '1' };
  const { ok, output } = runCommand(ownNode(root), args, { cwd: root, env });
  if (ok) return undefined;
  return `The dashboard's page could not be built; everything else works without it. vite build said:\n    ${output}`;
}

/** Each of the requirements in an environment of its own: they want other versions of packages. */
function installPython(name, requirements) {
  say(`Installing ${requirements} …`);
  const folder = join(root, name);
  rmSync(folder, { recursive: true, force: true });
  const install = ['install', '--quiet', '--disable-pip-version-check', '--requirement', requirements];
  for (const [command, args] of [
    ['python3', ['-m', 'venv', folder]],
    [join(folder, 'bin/python'), ['-m', 'pip', ...install]],
  ]) {
    const { ok, output } = runCommand(command, args, { cwd: root, alsoPassed: PYTHON_SETTINGS });
    if (ok) continue;
    // Tests look for the folder.
    rmSync(folder, { recursive: true, force: true });
    return `The tests that need ${requirements} will be skipped: ${args[1]} failed.\n    ${output}`;
  }
  return undefined;
}

const isDone = (step) => step.isDone?.(root) ?? hasStamp(root, step.folder, digestOf(root, step.sources));

function setUp() {
  for (const step of STEPS.filter((one) => !isDone(one))) {
    // Before the work: a source that changes meanwhile is noticed the next time.
    const digest = step.folder && digestOf(root, step.sources);
    const problem = step.make(root, say);
    if (problem !== undefined && step.needed) return problem;
    if (problem !== undefined) process.stderr.write(`${problem}\n`);
    else if (step.folder) writeStamp(root, step.folder, digest);
  }
  return undefined;
}

/** Two at once, from two terminals or a test beside a start, wait for each other. */
async function setUpAlone() {
  const path = join(root, '.cache/setup.lock');
  mkdirSync(join(root, '.cache'), { recursive: true });
  let lock = await lockFile(path, 0);
  if (lock === undefined) {
    say('Another set-up is running, waiting for it …');
    lock = await lockFile(path, LONGEST_WAIT_SECONDS);
  }
  if (lock === undefined) return `Another set-up has ${path} and does not end.`;
  try {
    return setUp();
  } finally {
    lock.release();
  }
}

const problem = (STEPS.every(isDone) ? undefined : await setUpAlone()) ?? findNodeProblem(root);
if (problem !== undefined) {
  process.stderr.write(`\n${problem}\n\n`);
  process.exitCode = 1;
}

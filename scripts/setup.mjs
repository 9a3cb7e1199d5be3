// Prepares a fresh clone: dependencies, compiled programs, Envoy, the dashboard's page, and with
// --test the tests' Python packages. --clients installs the client libraries and agents of the test
// project `clients`, --openapi installs Schemathesis, --stripe-mock installs Stripe's stand-in. In
// CI, --test includes all of these. Plain JavaScript without dependencies, because it runs on Node
// 20 before anything is installed. Prints only to standard error, so that the output of the command
// after it stays clean. With --quiet, for commands that serve no page, it prints only problems and
// builds no page.
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
const lacks = (option) => !(process.argv.includes(option) || (forTests && process.env.CI === 'true'));
const LONGEST_WAIT_SECONDS = 20 * 60;
/** Folders from which the page may import (test/architecture/import-order.ts). */
const PAGE_SOURCES = ['package-lock.json', 'core', 'contract', 'dashboard/web', 'docs'];

/**
 * The steps, in order. A step is done if its folder was made from the current sources. `make`
 * returns a problem or undefined. A problem of a step that is not `needed` is reported, and set-up
 * continues.
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
    isLeftOut: lacks('--openapi'),
  },
  { ...STRIPE_MOCK_STEP, isLeftOut: lacks('--stripe-mock') },
  ...CLIENT_STEPS.map((step) => ({ ...step, isLeftOut: lacks('--clients') })),
].filter(({ isLeftOut }) => !isLeftOut);

function say(text) {
  if (!quiet) process.stderr.write(`${text}\n`);
}

/**
 * Fills the NODE_COMPILE_CACHE of `npm start` and of the operator's commands. With it a program
 * loads with half the CPU (measured). Each program ends once it is loaded, because the
 * configuration, port or command that it is given does not exist.
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
  // With NODE_ENV=test the page would contain the development build of React.
  const env = { NODE_ENV: 'production', NO_COLOR: '1' };
  const { ok, output } = runCommand(ownNode(root), args, { cwd: root, env });
  if (ok) return undefined;
  return `The dashboard's page could not be built; everything else works without it. vite build said:\n    ${output}`;
}

/**
 * Installs each requirements file into its own environment, because their versions of packages
 * differ.
 */
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
    // Tests check for the folder.
    rmSync(folder, { recursive: true, force: true });
    return `The tests that need ${requirements} will be skipped: ${args[1]} failed.\n    ${output}`;
  }
  return undefined;
}

const isDone = (step) => step.isDone?.(root) ?? hasStamp(root, step.folder, digestOf(root, step.sources));

function setUp() {
  for (const step of STEPS.filter((one) => !isDone(one))) {
    // Computed before the work, so that a source that changes meanwhile is noticed next time.
    const digest = step.folder && digestOf(root, step.sources);
    const problem = step.make(root, say);
    if (problem !== undefined && step.needed) return problem;
    if (problem !== undefined) process.stderr.write(`${problem}\n`);
    else if (step.folder) writeStamp(root, step.folder, digest);
  }
  return undefined;
}

/** Serializes concurrent runs, such as from two terminals, or from a test during a start. */
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

function whoseFolder(error) {
  if (error.code !== 'EACCES') throw error;
  return `${error.path} cannot be written: run "node scripts/setup.mjs" as the owner of this folder.`;
}

const problem = (STEPS.every(isDone) ? undefined : await setUpAlone().catch(whoseFolder)) ?? findNodeProblem(root);
if (problem !== undefined) {
  process.stderr.write(`\n${problem}\n\n`);
  process.exitCode = 1;
}

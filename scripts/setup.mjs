// Makes a fresh clone runnable: dependencies, compiled programs, Envoy, the dashboard's page, and
// with --test the Python packages of the tests. Plain JavaScript without dependencies, because it
// runs on Node 20 before anything is installed. Prints to standard error only: the output of the
// command after it stays clean. With --quiet, for commands that serve no page, it prints problems
// only and builds none.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lockFile } from '../core/lock/file-lock.mjs';
import { dependenciesAreCurrent, findNodeProblem, installDependencies } from './setup/dependencies.mjs';
import { envoyIsReady, installEnvoy } from './setup/envoy.mjs';
import { buildPage, pageIsBuilt } from './setup/page.mjs';
import { preparePython, pythonIsReady } from './setup/python-tests.mjs';
import { ownNode, runCommand } from './setup/run-command.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, '.cache');
const quiet = process.argv.includes('--quiet');
const forTests = process.argv.includes('--test');
const LONGEST_WAIT_SECONDS = 20 * 60;

/**
 * NODE_COMPILE_CACHE of `npm start` and of the operator's commands: with it a program is loaded at
 * half the CPU (measured).
 */
const compiled = join(cache, 'compiled');
/**
 * Each of them ends as soon as it is loaded: there is no such configuration, no such port, and no
 * command.
 */
const PROGRAMS = [
  ['supervisor/main.ts'],
  ['ext-proc/main.ts'],
  ['dashboard/server/main.ts'],
  ['demo/provider.ts', '--port', 'none'],
  ['operator/main.ts'],
];

/**
 * In their order. `make` returns a problem or undefined; one that is not `needed` is reported, and
 * the rest goes on.
 */
const STEPS = [
  { isDone: dependenciesAreCurrent, make: installDependencies, needed: true },
  { isDone: () => existsSync(compiled), make: compilePrograms, needed: true },
  { isDone: envoyIsReady, make: installEnvoy, needed: true },
  { isDone: (...of) => quiet || pageIsBuilt(...of), make: buildPage, needed: false },
  { isDone: (...of) => !forTests || pythonIsReady(...of), make: preparePython, needed: false },
];

function say(text) {
  if (!quiet) process.stderr.write(`${text}\n`);
}

/** Compiles the programs; later changes are compiled, and kept, by the program that starts next. */
function compilePrograms() {
  say('Compiling …');
  mkdirSync(compiled, { recursive: true });
  const env = { NODE_COMPILE_CACHE: compiled, GATEWAY_CONFIG: join(compiled, 'none.yaml') };
  for (const [program, ...args] of PROGRAMS)
    runCommand(ownNode(root), [join(root, program), ...args], { cwd: root, env });
}

function setUp() {
  for (const { isDone, make, needed } of STEPS) {
    const problem = isDone(root) ? undefined : make(root, say);
    if (problem === undefined) continue;
    if (needed) return problem;
    process.stderr.write(`${problem}\n`);
  }
  return undefined;
}

/** Two at once, from two terminals or a test beside a start, wait for each other. */
async function setUpAlone() {
  mkdirSync(cache, { recursive: true });
  const path = join(cache, 'setup.lock');
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

const problem = (STEPS.every(({ isDone }) => isDone(root)) ? undefined : await setUpAlone()) ?? findNodeProblem(root);
if (problem !== undefined) {
  process.stderr.write(`\n${problem}\n\n`);
  process.exitCode = 1;
}

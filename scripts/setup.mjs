// Makes a fresh clone runnable: dependencies, compiled programs, Envoy, the dashboard's page, with --test what the tests need. Plain JavaScript without
// dependencies, because it runs on Node 20 before anything is installed. Prints to standard error only: the output of the command after
// it stays clean. With --quiet, for commands that serve no page, it says nothing and builds none.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compilePrograms, programsAreCompiled } from './setup/compiled.mjs';
import { dependenciesAreCurrent, installDependencies } from './setup/dependencies.mjs';
import { envoyIsReady, installEnvoy } from './setup/envoy.mjs';
import { withLock } from './setup/lock.mjs';
import { findBroughtNodeProblem, findNodeProblem } from './setup/node-version.mjs';
import { preparePython, pythonIsReady } from './setup/python-tests.mjs';
import { buildWeb, webIsBuilt } from './setup/web.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const quiet = process.argv.includes('--quiet');
const forTests = process.argv.includes('--test');

function say(text) {
  if (!quiet) process.stderr.write(`${text}\n`);
}

function webIsReady() {
  return quiet || webIsBuilt(root);
}

function nothingToDo() {
  const runs = dependenciesAreCurrent(root) && envoyIsReady(root) && programsAreCompiled(root);
  return runs && (!forTests || pythonIsReady(root)) && webIsReady();
}

async function setUp() {
  if (!dependenciesAreCurrent(root)) {
    const problem = installDependencies(root, say) ?? findBroughtNodeProblem(root);
    if (problem !== undefined) return problem;
  }
  if (!programsAreCompiled(root)) compilePrograms(root, say);
  if (!envoyIsReady(root)) {
    const problem = installEnvoy(root, say);
    if (problem !== undefined) return problem;
  }
  if (!webIsReady()) {
    // Not an error: the API serves without it, and the tests that need it fail.
    const problem = buildWeb(root, say);
    if (problem !== undefined) process.stderr.write(`${problem}\n`);
  }
  if (forTests && !pythonIsReady(root)) {
    // Not an error here: the tests that need it are skipped and say so, which fails a run with CI=true.
    const problem = preparePython(root, say);
    if (problem !== undefined) process.stderr.write(`${problem}\n`);
  }
  return undefined;
}

async function main() {
  if (nothingToDo()) return findNodeProblem(root);
  const cache = join(root, '.cache');
  if (!existsSync(cache)) mkdirSync(cache, { recursive: true });
  return withLock(join(cache, 'setup.lock'), say, setUp);
}

const problem = await main();
if (problem !== undefined) {
  process.stderr.write(`\n${problem}\n\n`);
  process.exitCode = 1;
}

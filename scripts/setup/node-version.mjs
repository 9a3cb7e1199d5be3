import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.mjs';

/** The sources are TypeScript that Node runs as it is, and passwords are hashed by its argon2, which came with 24.7. */
const LEAST = { major: 24, minor: 7 };
const LEAST_TEXT = `${LEAST.major}.${LEAST.minor}`;

/**
 * The npm dependencies bring a Node of their own for Linux, which npm puts first on PATH. Elsewhere the installed one has to be new
 * enough. Returns the problem, or undefined.
 */
export function findNodeProblem(root) {
  if (isEnough(process.versions.node)) return undefined;
  const own = join(root, 'node_modules', '.bin', 'node');
  if (!existsSync(own)) {
    return `Node ${LEAST_TEXT} or newer is needed. This is Node ${process.versions.node}, and npm has none for ${process.platform}-${process.arch}: install a newer Node and try again.`;
  }
  return undefined;
}

/** As above, and runs the one that npm brought: only worth its 40 ms after an installation. */
export function findBroughtNodeProblem(root) {
  const problem = findNodeProblem(root);
  const own = join(root, 'node_modules', '.bin', 'node');
  if (problem !== undefined || !existsSync(own)) return problem;
  const result = runCommand(own, ['--version']);
  if (result.ok && isEnough(result.output.replace(/^v/, ''))) return undefined;
  return `The Node that npm installed does not run here (${result.output}): a Linux with glibc is needed.`;
}

function isEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > LEAST.major || (major === LEAST.major && minor >= LEAST.minor);
}

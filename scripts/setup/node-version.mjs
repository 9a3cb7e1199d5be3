import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.mjs';

/** The gateway's sources are TypeScript that Node runs as it is. */
const LEAST_MAJOR = 24;

/**
 * The npm dependencies bring a Node of their own for Linux, which npm puts first on PATH. Elsewhere the installed one has to be new
 * enough. Returns the problem, or undefined.
 */
export function findNodeProblem(root) {
  if (major(process.versions.node) >= LEAST_MAJOR) return undefined;
  const own = join(root, 'node_modules', '.bin', 'node');
  if (!existsSync(own)) {
    return `Node ${LEAST_MAJOR} or newer is needed. This is Node ${process.versions.node}, and npm has none for ${process.platform}-${process.arch}: install Node ${LEAST_MAJOR} and try again.`;
  }
  return undefined;
}

/** As above, and runs the one that npm brought: only worth its 40 ms after an installation. */
export function findBroughtNodeProblem(root) {
  const problem = findNodeProblem(root);
  const own = join(root, 'node_modules', '.bin', 'node');
  if (problem !== undefined || !existsSync(own)) return problem;
  const result = runCommand(own, ['--version']);
  if (result.ok && major(result.output.replace(/^v/, '')) >= LEAST_MAJOR) return undefined;
  return `The Node that npm installed does not run here (${result.output}): a Linux with glibc is needed.`;
}

function major(version) {
  return Number.parseInt(version, 10);
}

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { lastLines, runCommand } from './run-command.mjs';

/** Written into the folder that the build empties first: a build by hand, or none, leaves no stamp. */
const STAMP = '.setup-stamp';
const LONGEST_BUILD_MS = 5 * 60_000;
/** Whatever the environment of this start says: with NODE_ENV=test React would be the one for development. */
const PAGE_AS_SERVED = { NODE_ENV: 'production', NO_COLOR: '1' };

/** The dashboard's page in dashboard/dist is what its sources would make now. */
export function webIsBuilt(root) {
  const stamp = join(root, 'dashboard', 'dist', STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(root);
}

/** Returns the problem, or undefined when the page is built. */
export function buildWeb(root, say) {
  say("Building the dashboard's page …");
  // Before the build: what changes meanwhile is built the next time.
  const sources = fingerprint(root);
  const own = join(root, 'node_modules', '.bin', 'node');
  const node = existsSync(own) ? own : process.execPath;
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const args = [vite, 'build', join('dashboard', 'web'), '--logLevel', 'warn'];
  const result = runCommand(node, args, { cwd: root, env: PAGE_AS_SERVED, timeout: LONGEST_BUILD_MS });
  if (!result.ok) {
    return `The dashboard's page could not be built; everything else works without it. vite build said:\n${lastLines(withoutStack(result.output), 12)}`;
  }
  writeFileSync(join(root, 'dashboard', 'dist', STAMP), sources);
  return undefined;
}

function withoutStack(output) {
  return output
    .split('\n')
    .filter((line) => !/^\s+at /.test(line))
    .join('\n');
}

function fingerprint(root) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  for (const path of sourceFiles(root)) {
    const content = readFileSync(path);
    hash.update(`${relative(root, path)} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

const NOT_BUILT = /\.(?:test\.tsx?|md)$/;

/** Everything in dashboard/web that is not for us alone, and what it imports from elsewhere in this repository. */
function sourceFiles(root) {
  const web = join(root, 'dashboard', 'web');
  if (!existsSync(web)) return [];
  const found = new Set(
    readdirSync(web, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !NOT_BUILT.test(entry.name))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  );
  // A set grows while it is gone through.
  for (const path of found) for (const imported of importsOf(path)) found.add(imported);
  return [...found].sort();
}

const IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g;

function importsOf(path) {
  if (!/\.tsx?$/.test(path)) return [];
  const targets = [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(([, target]) => join(dirname(path), target));
  return targets.filter((target) => existsSync(target));
}

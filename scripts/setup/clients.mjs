import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CLEAN_INSTALL, NPM_SETTINGS } from './dependencies.mjs';
import { runCommand } from './run-command.mjs';

/** Client libraries that the project `clients` runs against the gateway (test/clients). */
const NODE_CLIENTS = 'test/clients/node';
const PYTHON_CLIENTS = 'test/clients/python';
const ENVIRONMENTS = '.cache/clients';

/** Installs 300 packages in a twentieth of pip's time (measured: 5 s and 100 s). */
const UV = 'uv==0.13.9';
const UV_SETTINGS = /^(?:PIP_|PYTHON|UV_)/;

/** An environment each, named as the file: they want different versions of the same packages. */
const REQUIREMENTS = ['openai-3', 'openai-2', 'pydantic-2.13', 'litellm-proxy'];
const requirementsFile = (name) => `${PYTHON_CLIENTS}/${name}.txt`;

export const CLIENT_STEPS = [
  { folder: `${NODE_CLIENTS}/node_modules`, sources: [`${NODE_CLIENTS}/package-lock.json`], make: installNodeClients },
  { folder: ENVIRONMENTS, sources: REQUIREMENTS.map(requirementsFile), make: installPythonClients },
];

function installNodeClients(root, say) {
  say('Installing the clients from npm …');
  const folder = join(root, NODE_CLIENTS);
  const { ok, output } = runCommand('npm', CLEAN_INSTALL, { cwd: folder, alsoPassed: NPM_SETTINGS });
  return ok ? undefined : `The clients for Node could not be installed. npm ci said:\n    ${output}`;
}

function installPythonClients(root, say) {
  say('Installing the clients from PyPI …');
  const folder = join(root, ENVIRONMENTS);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const ownTool = join(folder, 'uv');
  const python = join(ownTool, 'bin/python');
  const uv = join(ownTool, 'bin/uv');
  // Packages that environments share are links to one file.
  const env = { UV_CACHE_DIR: join(folder, 'packages'), ...indexOfPip() };
  const commands = [
    ['python3', ['-m', 'venv', ownTool]],
    [python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', UV]],
    ...REQUIREMENTS.flatMap((name) => {
      const environment = join(folder, name);
      const install = ['pip', 'install', '--quiet', '--no-deps', '--requirement', requirementsFile(name)];
      return [
        [uv, ['venv', '--quiet', '--python', python, environment]],
        [uv, [...install, '--python', join(environment, 'bin/python')]],
      ];
    }),
  ];
  for (const [command, args] of commands) {
    const { ok, output } = runCommand(command, args, { cwd: root, env, alsoPassed: UV_SETTINGS });
    if (ok) continue;
    rmSync(folder, { recursive: true, force: true });
    return `The clients for Python could not be installed: ${basename(command)} ${args.join(' ')} failed.\n    ${output}`;
  }
  return undefined;
}

/** An index that is configured for pip: uv does not read pip's settings. */
function indexOfPip() {
  const { PIP_INDEX_URL, UV_DEFAULT_INDEX } = process.env;
  return PIP_INDEX_URL && !UV_DEFAULT_INDEX ? { UV_DEFAULT_INDEX: PIP_INDEX_URL } : {};
}

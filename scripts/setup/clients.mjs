import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CLEAN_INSTALL, NPM_SETTINGS } from './dependencies.mjs';
import { ownNode, runCommand } from './run-command.mjs';

/** Client libraries and agents that the test project `clients` runs against the gateway. */
const NODE_CLIENTS = 'test/clients/node';
const NODE_AGENTS = 'test/agents/node';
const ENVIRONMENTS = '.cache/clients';

/** Installs 300 packages in a twentieth of pip's time (measured: 5 s instead of 100 s). */
const UV = 'uv==0.13.9';
const UV_SETTINGS = /^(?:PIP_|PYTHON|UV_)/;

/**
 * Each has an environment with the file's name, because they need different versions of the same
 * packages.
 */
const REQUIREMENTS = [
  ...['openai-3', 'openai-2', 'pydantic-2.13', 'litellm-proxy'].map((name) => `test/clients/python/${name}.txt`),
  ...['aider', 'mini-swe-agent', 'open-webui'].map((name) => `test/agents/python/${name}.txt`),
];

/**
 * `npm ci` refuses a lock file without the optional packages of other platforms, which not every
 * registry serves. This command also installs the locked versions, and does not change the lock
 * file.
 */
const LOCKED_INSTALL = ['install', '--no-save', ...CLEAN_INSTALL.slice(1)];

export const CLIENT_STEPS = [
  nodeStep(NODE_CLIENTS, (root, folder) => runNpm(root, folder, CLEAN_INSTALL)),
  nodeStep(NODE_AGENTS, installNodeAgents),
  { folder: ENVIRONMENTS, sources: REQUIREMENTS, make: installPythonClients },
];

function nodeStep(folder, install) {
  const make = (root, say) => {
    say(`Installing ${folder} from npm …`);
    return install(root, folder);
  };
  return { folder: `${folder}/node_modules`, sources: [`${folder}/package-lock.json`], make };
}

function runNpm(root, folder, args) {
  const { ok, output } = runCommand('npm', args, { cwd: join(root, folder), alsoPassed: NPM_SETTINGS });
  return ok ? undefined : `${folder} could not be installed. npm ${args[0]} said:\n    ${output}`;
}

/** Scripts that put an agent's program in place. */
const AGENT_SCRIPTS = { 'opencode-ai': 'postinstall.mjs', '@anthropic-ai/claude-code': 'install.cjs' };

function installNodeAgents(root, folder) {
  const problem = runNpm(root, folder, LOCKED_INSTALL);
  if (problem) return problem;
  for (const [agent, script] of Object.entries(AGENT_SCRIPTS)) {
    const { ok, output } = runCommand(ownNode(root), [script], { cwd: join(root, folder, 'node_modules', agent) });
    if (!ok) return `The script of ${agent} failed:\n    ${output}`;
  }
  return undefined;
}

function installPythonClients(root, say) {
  say('Installing clients and agents from PyPI …');
  const folder = join(root, ENVIRONMENTS);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const ownTool = join(folder, 'uv');
  const python = join(ownTool, 'bin/python');
  const uv = join(ownTool, 'bin/uv');
  // Packages that several environments share are links to one file.
  const env = { UV_CACHE_DIR: join(folder, 'packages'), ...indexOfPip() };
  const commands = [
    ['python3', ['-m', 'venv', ownTool]],
    [python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', UV]],
    ...REQUIREMENTS.flatMap((file) => {
      const environment = join(folder, basename(file, '.txt'));
      const install = ['pip', 'install', '--quiet', '--no-deps', '--requirement', file];
      // Building a source distribution runs its code. One client library is only available in that
      // form.
      if (!file.endsWith('pydantic-2.13.txt')) install.push('--only-binary', ':all:');
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
    return `Clients and agents for Python could not be installed: ${basename(command)} ${args.join(' ')} failed.\n    ${output}`;
  }
  return undefined;
}

/** Passes the index that is configured for pip, because uv does not read pip's settings. */
function indexOfPip() {
  const { PIP_INDEX_URL, UV_DEFAULT_INDEX } = process.env;
  return PIP_INDEX_URL && !UV_DEFAULT_INDEX ? { UV_DEFAULT_INDEX: PIP_INDEX_URL } : {};
}

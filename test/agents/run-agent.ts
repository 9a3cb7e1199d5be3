import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { startProcess, type TestProcess } from '../launchers/child-process.ts';
import { type Agent, scriptOf } from './agents.ts';

export interface AgentSurroundings {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  /** An empty folder, in which agents store files. */
  readonly home: string;
  /** Working folder, with the file. */
  readonly folder: string;
  /** Port on which a server listens. */
  readonly port?: number;
}

export interface AgentRun {
  readonly exit: number | NodeJS.Signals;
  readonly output: string;
}

const ROOT = resolve(import.meta.dirname, '../..');
const NODE_AGENTS = join(import.meta.dirname, 'node/node_modules');
const ENVIRONMENTS = join(ROOT, '.cache/clients');
const LONGEST_MS = 240_000;

/** Turns off updates, downloads of model lists and prices, and telemetry. */
const QUIET = {
  // A port without a listener, so that outgoing requests fail at once.
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1',
  NODE_USE_ENV_PROXY: '1',
  DO_NOT_TRACK: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  CLINE_NO_AUTO_UPDATE: '1',
  // Keeps Cline from leaving a daemon behind.
  CLINE_SESSION_BACKEND_MODE: 'local',
  AIDER_ANALYTICS: 'false',
  AIDER_CHECK_UPDATE: 'false',
  AIDER_GIT: 'false',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  // Keeps mini-swe-agent from asking for settings.
  MSWEA_CONFIGURED: 'true',
  OFFLINE_MODE: 'true',
};

export function agentsMissing(): string | undefined {
  return [NODE_AGENTS, ENVIRONMENTS].every((folder) => existsSync(join(folder, '.setup-stamp')))
    ? undefined
    : 'the packages of agents: npm run test:agents installs them';
}

/** Starts an agent's script in its own process group. */
export function startScript(agent: Agent, surroundings: AgentSurroundings, env: NodeJS.ProcessEnv = {}): TestProcess {
  const { url, key, model, home, folder, port } = surroundings;
  mkdirSync(folder, { recursive: true });
  if (agent.settings !== undefined) {
    const path = join(home, agent.settings.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, agent.settings.text);
  }
  const programs = [join(NODE_AGENTS, '.bin'), join(ENVIRONMENTS, agent.file, 'bin'), process.env.PATH];
  return startProcess('sh', ['-e', '-c', scriptOf(agent)], {
    // The test's environment is not passed on, because agents may read options from it.
    env: {
      ...QUIET,
      ...env,
      PATH: programs.join(':'),
      HOME: home,
      TMPDIR: home,
      // For Python agents, compiling imports costs as much as running them, so the bytecode is
      // cached.
      PYTHONPYCACHEPREFIX: join(ENVIRONMENTS, 'bytecode'),
      GATEWAY_URL: url,
      GATEWAY_KEY: key,
      GATEWAY_MODEL: model,
      ...(port === undefined ? {} : { PORT: String(port) }),
    },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

/** Kills a script and its descendants. */
export async function endScript(script: TestProcess): Promise<void> {
  try {
    process.kill(-script.pid, 'SIGKILL');
  } catch {
    // The whole group has ended.
  }
  await script.exited;
}

/** Runs an agent's script to its end. */
export async function runScript(agent: Agent, surroundings: AgentSurroundings): Promise<AgentRun> {
  const script = startScript(agent, surroundings);
  const timer = setTimeout(() => void endScript(script), LONGEST_MS);
  const exit = await script.exited;
  clearTimeout(timer);
  await endScript(script);
  return { exit, output: script.output() };
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';

/** LiteLLM's proxy: a provider of three APIs with an independent translation between them. */
export interface LiteLlmProxy {
  readonly baseUrl: string;
  /** Kills the process as in a crash. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export interface LiteLlmModel {
  readonly model_name: string;
  readonly litellm_params: Readonly<Record<string, unknown>>;
}

export const PROXY_KEY = 'sk-litellm';

const ENVIRONMENTS = resolve(import.meta.dirname, '../../.cache/clients');
/** A first start compiles all modules, for 30 s of CPU. Later starts take 10 s. */
const STARTED_WITHIN_MS = 240_000;

export async function startLiteLlmProxy(models: readonly LiteLlmModel[]): Promise<LiteLlmProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-litellm-'));
  const file = join(folder, 'config.yaml');
  writeFileSync(file, JSON.stringify(configWith(models)));
  const [port = 0] = await freePorts(1);
  const args = ['--config', file, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'];
  const proxy = startProcess(join(ENVIRONMENTS, 'litellm-proxy/bin/litellm'), args, {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TMPDIR: folder,
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      // A port without a listener, so that outgoing requests fail at once.
      HTTP_PROXY: 'http://127.0.0.1:9',
      HTTPS_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: '127.0.0.1',
      PYTHONPYCACHEPREFIX: join(ENVIRONMENTS, 'bytecode'),
    },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const close = async (signal: NodeJS.Signals) => {
    await proxy.end(signal);
    rmSync(folder, { recursive: true, force: true });
  };
  const origin = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + STARTED_WITHIN_MS;
  while (!(await isAlive(origin))) {
    if (proxy.hasEnded() || performance.now() > deadline) {
      await close('SIGKILL');
      throw new Error(`LiteLLM's proxy did not start:\n${proxy.output()}`);
    }
    await sleep(100);
  }
  return { baseUrl: `${origin}/v1`, kill: () => proxy.end('SIGKILL'), close: () => close('SIGTERM') };
}

/** Without retries and cool-downs of models, so that each request has its own outcome. */
function configWith(models: readonly LiteLlmModel[]): object {
  return {
    model_list: models,
    litellm_settings: { num_retries: 0, telemetry: false },
    router_settings: { num_retries: 0, disable_cooldowns: true },
    general_settings: { master_key: PROXY_KEY },
  };
}

async function isAlive(origin: string): Promise<boolean> {
  const response = await fetch(`${origin}/health/liveliness`).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.ok ?? false;
}

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askAdmin } from '#ext-proc/envoy-config/envoy-admin.ts';
import { untilServing } from '../harness/serving.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import type { TestConfig } from '../harness/test-config.ts';
import type { LaunchedProcess } from '../launchers/launched-process.ts';
import { openLauncher } from '../launchers/open-launcher.ts';
import type { LoadTarget } from '../load/checks.ts';
import { startMockProvider } from '../load/children.ts';

/**
 * A stack with the mock provider, an attacking customer, and another one that must not be affected.
 */
export interface HostileStack {
  readonly stack: Stack;
  readonly attacker: LoadTarget;
  readonly others: LoadTarget;
  /** The running Envoy. It is not the stack's if the bootstrap was edited. */
  envoy(): LaunchedProcess;
  /** The value of one of Envoy's statistics by its full name. */
  stat(name: string): Promise<number>;
  /**
   * Bytes that Envoy has allocated and not freed. Its resident memory also includes the allocator's
   * reserve.
   */
  envoyAllocatedBytes(): Promise<number>;
  /** Resolves when no request is in flight. */
  untilQuiet(): Promise<void>;
  logs(): string;
  close(): Promise<void>;
}

export interface HostileOptions {
  readonly postgresSocketDir: string;
  readonly timeouts?: Readonly<Record<string, string>>;
  readonly tls?: TestConfig['tls'];
  /** Default: those of TestConfig. */
  readonly bounds?: Pick<TestConfig, 'address_connections' | 'address_requests' | 'address_rps'>;
  /** Edits the bootstrap. Envoy is then restarted with the result. */
  readonly editEnvoy?: (yaml: string) => string;
}

const MODELS = ['json', 'paced-stream', 'big-stream', 'big-json'];
const QUIET_MS = 30_000;

export async function startHostileStack(options: HostileOptions): Promise<HostileStack> {
  const provider = await startMockProvider();
  const stack = await startStack({
    postgresSocketDir: options.postgresSocketDir,
    config: {
      providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
      models: Object.fromEntries(MODELS.map((name) => [name, {}])),
      timeouts: { first_byte: '20s', stream_idle: '20s', total: '60s', ...options.timeouts },
      ...(options.tls ? { tls: options.tls } : {}),
      ...options.bounds,
    },
  });
  const envoy = options.editEnvoy ? await restartEnvoy(stack, options.editEnvoy) : stack.envoy;
  const customer = async (): Promise<LoadTarget> => {
    const { key } = await stack.operator.customer({ credit: '1000000', organization: { concurrency: 10_000 } });
    return { origin: stack.origin, key };
  };
  const stat = async (name: string): Promise<number> => {
    const text = await askAdmin(stack.paths.envoyAdminSocket, `/stats?filter=^${encodeURIComponent(name)}$`);
    return Number(text?.trim().split(': ')[1] ?? Number.NaN);
  };
  return {
    stack,
    attacker: await customer(),
    others: await customer(),
    envoy: () => envoy,
    stat,
    envoyAllocatedBytes: async () => {
      const { allocated } = JSON.parse((await askAdmin(stack.paths.envoyAdminSocket, '/memory')) ?? '{}');
      return Number(allocated ?? Number.NaN);
    },
    untilQuiet: async () => {
      const deadline = performance.now() + QUIET_MS;
      for (;;) {
        const active = await stat('http.ingress.downstream_rq_active');
        if (active === 0) return;
        if (performance.now() > deadline) throw new Error(`${active} requests still in flight after ${QUIET_MS} ms`);
        await sleep(50);
      }
    },
    logs: () => `${stack.logs()}\n${envoy.output()}`,
    close: async () => {
      if (envoy !== stack.envoy) await envoy.end();
      await stack.close();
      await provider.stop();
    },
  };
}

async function restartEnvoy(stack: Stack, edit: (yaml: string) => string): Promise<LaunchedProcess> {
  const path = join(stack.paths.envoyDir, 'envoy.yaml');
  const before = readFileSync(path, 'utf8');
  const after = edit(before);
  if (after === before) throw new Error('the edit of envoy.yaml changes nothing');
  await stack.envoy.end();
  writeFileSync(path, after);
  const args = ['-c', path, '--use-dynamic-base-id', '--concurrency', '2', '--log-level', 'warn'];
  const envoy = await (await openLauncher()).startEnvoy(args);
  await untilServing(stack, [envoy]);
  return envoy;
}

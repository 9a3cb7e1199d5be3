import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { clustersPath, writeBootstrap } from '#ext-proc/envoy-config/bootstrap.ts';
import { configWith } from '../fixtures/gateway-config.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import type { LaunchedProcess } from '../launchers/launched-process.ts';
import { openLauncher } from '../launchers/open-launcher.ts';

/** A real Envoy with the rendered bootstrap, on a port that it chooses, in a folder of its own. */
export interface EnvoyProcess {
  readonly port: number;
  readonly pid: number;
  readonly paths: RuntimePaths;
  /** Body of a GET on the admin socket. */
  admin(path: string): Promise<string>;
  /** Output of Envoy, to be shown when a test fails. */
  log(): string;
  stop(): Promise<void>;
}

export interface EnvoyOptions {
  readonly config?: Partial<GatewayConfig>;
  /** Provider clusters in the form of clusters.json. */
  readonly clusters?: readonly object[];
  readonly threads?: number;
  /** Paths to use instead of a new folder. They are not removed. */
  readonly paths?: RuntimePaths;
}

/** A folder under os.tmpdir(), short enough for socket paths. */
export async function temporaryPaths(): Promise<RuntimePaths> {
  return runtimePaths({ GATEWAY_DATA: await mkdtemp(join(tmpdir(), 'gw-test-')) });
}

export async function startEnvoy(options: EnvoyOptions = {}): Promise<EnvoyProcess> {
  const paths = options.paths ?? (await temporaryPaths());
  // Port 0 lets Envoy choose.
  const bootstrap = await writeBootstrap({ ...configWith(), ...options.config }, paths);
  if (options.clusters !== undefined) {
    await writeFile(clustersPath(paths), JSON.stringify({ version_info: 'test', resources: options.clusters }));
  }
  const args = ['-c', bootstrap, '--disable-hot-restart', '--concurrency', String(options.threads ?? 1)];
  const process = await (await openLauncher()).startEnvoy([...args, '--log-level', 'warn']);
  try {
    const port = await ingressPort(process, paths);
    return {
      port,
      pid: process.pid,
      paths,
      admin: (path) => adminGet(paths.envoyAdminSocket, path),
      log: () => process.output(),
      async stop() {
        await process.end();
        if (options.paths === undefined) await rm(paths.dataDir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await process.end();
    throw new Error(`Envoy did not start:\n${process.output()}`, { cause: error });
  }
}

async function ingressPort(process: LaunchedProcess, paths: RuntimePaths): Promise<number> {
  const deadlineMs = Date.now() + PATIENCE_MS;
  for (;;) {
    if (process.hasEnded()) throw new Error('it ended');
    const port = await readPort(paths).catch(() => undefined);
    if (port !== undefined) return port;
    if (Date.now() > deadlineMs) throw new Error('not ready in time');
    await sleep(20);
  }
}

interface Listeners {
  readonly listener_statuses: readonly { name: string; local_address: { socket_address?: { port_value: number } } }[];
}

async function readPort(paths: RuntimePaths): Promise<number | undefined> {
  if ((await adminGet(paths.envoyAdminSocket, '/ready')).trim() !== 'LIVE') return undefined;
  const listeners: Listeners = JSON.parse(await adminGet(paths.envoyAdminSocket, '/listeners?format=json'));
  const ingress = listeners.listener_statuses.find(({ name }) => name === 'ingress');
  return ingress?.local_address.socket_address?.port_value;
}

function adminGet(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, timeout: 5_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve(text));
      response.on('error', reject);
    });
    call.on('timeout', () => call.destroy(new Error('admin timed out')));
    call.on('error', reject);
    call.end();
  });
}

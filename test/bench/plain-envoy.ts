import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { envoyBinary } from '../launchers/binaries.ts';
import { startProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';

/**
 * The baseline of the bench: an Envoy that only forwards to the same provider. No keys, no limits,
 * no accounting.
 */
export interface PlainEnvoy {
  readonly origin: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startPlainEnvoy(providerPort: number): Promise<PlainEnvoy> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-plain-'));
  const [port = 0] = await freePorts(1);
  const file = join(folder, 'envoy.json');
  writeFileSync(file, JSON.stringify(bootstrap(port, providerPort)));
  const args = ['-c', file, '--use-dynamic-base-id', '--concurrency', '2', '--log-level', 'warn'];
  const envoy = startProcess(envoyBinary(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const origin = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + 10_000;
  while (!(await answers(origin))) {
    if (envoy.hasEnded() || performance.now() > deadline)
      throw new Error(`plain Envoy did not start:\n${envoy.output()}`);
    await sleep(20);
  }
  return {
    origin,
    pid: envoy.pid,
    stop: async () => {
      await envoy.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(origin: string): Promise<boolean> {
  const response = await fetch(origin).catch(() => undefined);
  await response?.arrayBuffer();
  return response !== undefined;
}

function bootstrap(port: number, providerPort: number): object {
  const manager = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: 'plain',
    route_config: {
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          routes: [{ match: { prefix: '/' }, route: { cluster: 'provider', timeout: '0s' } }],
        },
      ],
    },
    http_filters: [
      {
        name: 'envoy.filters.http.router',
        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
      },
    ],
  };
  const thresholds = [{ max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000 }];
  return {
    static_resources: {
      listeners: [
        {
          name: 'plain',
          address: socketAddress(port),
          filter_chains: [
            { filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] },
          ],
        },
      ],
      clusters: [
        {
          name: 'provider',
          type: 'STATIC',
          circuit_breakers: { thresholds },
          load_assignment: {
            cluster_name: 'provider',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(providerPort) } }] }],
          },
        },
      ],
    },
  };
}

function socketAddress(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } };
}

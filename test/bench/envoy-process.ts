import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { envoyBinary } from '../launchers/binaries.ts';
import { startProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';

/** An Envoy without the gateway, with which the bench compares. */
export interface OtherEnvoy {
  readonly origin: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startOtherEnvoy(bootstrap: (port: number) => object): Promise<OtherEnvoy> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-envoy-'));
  const [port = 0] = await freePorts(1);
  const file = join(folder, 'envoy.json');
  writeFileSync(file, JSON.stringify(bootstrap(port)));
  const args = ['-c', file, '--use-dynamic-base-id', '--concurrency', '2', '--log-level', 'warn'];
  const envoy = startProcess(envoyBinary(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const origin = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await envoy.end();
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = performance.now() + 10_000;
  while (!(await answers(origin))) {
    if (envoy.hasEnded() || performance.now() > deadline) {
      await stop();
      throw new Error(`${envoy.command} did not start:\n${envoy.output()}`);
    }
    await sleep(20);
  }
  return { origin, pid: envoy.pid, stop };
}

async function answers(origin: string): Promise<boolean> {
  const response = await fetch(origin).catch(() => undefined);
  await response?.arrayBuffer();
  return response !== undefined;
}

export function staticCluster(name: string, address: object, more: object = {}): object {
  return {
    name,
    type: 'STATIC',
    circuit_breakers: {
      thresholds: [{ max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000 }],
    },
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
    ...more,
  };
}

export function listener(port: number, connectionManager: object): object {
  return {
    name: 'bench',
    address: socketAddress(port),
    filter_chains: [
      {
        filters: [
          {
            name: 'envoy.filters.network.http_connection_manager',
            typed_config: {
              '@type':
                'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
              stat_prefix: 'bench',
              ...connectionManager,
            },
          },
        ],
      },
    ],
  };
}

export function socketAddress(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } };
}

/** A filter with its settings. `type` is a type of Envoy's API, such as `router.v3.Router`. */
export function httpFilter(name: string, type: string, settings: object = {}): object {
  const typed_config = { '@type': `type.googleapis.com/envoy.extensions.filters.http.${type}`, ...settings };
  return { name: `envoy.filters.http.${name}`, typed_config };
}

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { GatewayConfig, ListenConfig } from '#core/config/gateway-config.ts';
import { type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { bootstrapPath, clustersPath, renderBootstrap, writeBootstrap } from './bootstrap.ts';
import { localReplyMappers } from './local-replies.ts';

let folder: string;
let paths: RuntimePaths;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gw boot-'));
  paths = runtimePaths({ GATEWAY_DATA: folder });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const address = { host: '127.0.0.1', port: 1 };
const TRUSTED: readonly string[] = ['10.0.0.0/8', '2001:db8::1'];
const plain: ListenConfig = {
  api: { host: '::', port: 8443 },
  dashboard: address,
  metrics: address,
  perAddress: { connections: 100, openRequests: 200, requestsPerSecond: 5000 },
};

/** Only what the bootstrap may depend on: anything else it read would fail here. */
function config(listen: ListenConfig, workers: number): GatewayConfig {
  return { listen, workers, trustedProxies: TRUSTED } as GatewayConfig;
}

const template = readFileSync(new URL('../../envoy/envoy.yaml', import.meta.url), 'utf8');

describe('renderBootstrap', () => {
  test('differs from envoy.yaml only in addresses, paths, processes and error texts', () => {
    const rendered = parse(renderBootstrap(config(plain, 2), paths, 42));
    const [ingress, egress] = rendered.static_resources.listeners;
    expect(ingress.address.socket_address).toEqual({ address: '::', port_value: 8443, ipv4_compat: true });
    expect(egress.address.pipe).toEqual({ path: paths.egressSocket, mode: 0o600 });
    expect(rendered.admin.address.pipe).toEqual({ path: paths.envoyAdminSocket, mode: 0o600 });
    const clusters = rendered.static_resources.clusters;
    expect(clusters.map(pipes)).toEqual([
      ['gateway', paths.extProcSocket(0), paths.extProcSocket(1)],
      ['gateway-stream-0', paths.streamSocket(0)],
      ['gateway-stream-1', paths.streamSocket(1)],
    ]);
    const http = ingress.filter_chains[0].filters[1].typed_config;
    expect(http.local_reply_config.mappers).toEqual(localReplyMappers());
    const logRate = http.access_log[0].filter.and_filter.filters[1].extension_filter.typed_config.dynamic_config;
    expect(logRate.config_source.path_config_source.path).toBe(join(paths.envoyDir, 'log-rate.json'));
    expect(ingress.filter_chains[0].transport_socket).toBeUndefined();
    // Put back what was set; the rest must be the page itself.
    const page = parse(template);
    const [pageIngress, pageEgress] = page.static_resources.listeners;
    ingress.address = pageIngress.address;
    egress.address = pageEgress.address;
    rendered.admin = page.admin;
    rendered.dynamic_resources = page.dynamic_resources;
    http.local_reply_config.mappers = [];
    http.access_log = pageIngress.filter_chains[0].filters[1].typed_config.access_log;
    clusters[0].load_assignment = page.static_resources.clusters[0].load_assignment;
    clusters[1].load_assignment = page.static_resources.clusters[1].load_assignment;
    clusters.length = 2;
    ingress.filter_chains.length = 1;
    ingress.filter_chains[0].filters[0] = pageIngress.filter_chains[0].filters[0];
    http.http_filters[0] = pageIngress.filter_chains[0].filters[1].typed_config.http_filters[0];
    expect(rendered).toEqual(page);
  });

  test('has no retries with a single gateway process', () => {
    const service = (workers: number) =>
      parse(renderBootstrap(config(plain, workers), paths, 42)).static_resources.listeners[0].filter_chains[0]
        .filters[1].typed_config.http_filters[2].typed_config.grpc_service;
    expect(Object.keys(service(1))).toEqual(['envoy_grpc']);
    expect(Object.keys(service(2))).toEqual(['envoy_grpc', 'retry_policy']);
  });

  test('TLS takes its certificate by SDS and offers HTTP/2 first', () => {
    const tls = { certificatePath: '/c.pem', privateKeyPath: '/k.pem' };
    const rendered = parse(renderBootstrap(config({ ...plain, tls }, 1), paths, 42));
    const context =
      rendered.static_resources.listeners[0].filter_chains[0].transport_socket.typed_config.common_tls_context;
    expect(context.alpn_protocols).toEqual(['h2', 'http/1.1']);
    expect(context.tls_certificate_sds_secret_configs[0].sds_config.path_config_source.path).toBe(
      join(paths.envoyDir, 'tls.json'),
    );
  });
});

describe('writeBootstrap', () => {
  test('writes the files that Envoy needs to start, and keeps existing clusters', async () => {
    const tls = { certificatePath: '/c.pem', privateKeyPath: '/k.pem' };
    expect(await writeBootstrap(config({ ...plain, tls }, 1), paths)).toBe(bootstrapPath(paths));
    expect(JSON.parse(readFileSync(clustersPath(paths), 'utf8')).resources).toEqual([]);
    const secret = JSON.parse(readFileSync(join(paths.envoyDir, 'tls.json'), 'utf8')).resources[0];
    expect(secret.tls_certificate).toEqual({
      certificate_chain: { filename: '/c.pem' },
      private_key: { filename: '/k.pem' },
      watched_directory: { path: paths.envoyDir },
    });
    const [logRate] = JSON.parse(readFileSync(join(paths.envoyDir, 'log-rate.json'), 'utf8')).resources;
    expect(logRate).toMatchObject({ name: 'access-log', resource: { max_tokens: 500, tokens_per_fill: 50 } });
    expect(statSync(paths.socketDir).mode & 0o777).toBe(0o700);
    writeFileSync(clustersPath(paths), 'kept');
    await writeBootstrap(config(plain, 1), paths);
    expect(readFileSync(clustersPath(paths), 'utf8')).toBe('kept');
    const bootstrap = readFileSync(bootstrapPath(paths), 'utf8');
    expect(bootstrap).toMatch(/"?100 \d+"?/);
    // A container of Envoy starts again when its bootstrap changes.
    await writeBootstrap(config(plain, 1), paths);
    expect(readFileSync(bootstrapPath(paths), 'utf8')).toBe(bootstrap);
    const module = readFileSync(new URL('../../envoy/connection-bound/connection-bound.wasm', import.meta.url));
    expect(readFileSync(join(paths.envoyDir, 'connection-bound.wasm'))).toEqual(module);
  });
});

interface Cluster {
  readonly name: string;
  readonly load_assignment: {
    readonly endpoints: readonly [
      { readonly lb_endpoints: readonly { endpoint: { address: { pipe: { path: string } } } }[] },
    ];
  };
}

function pipes({ name, load_assignment: assignment }: Cluster): string[] {
  return [name, ...assignment.endpoints[0].lb_endpoints.map(({ endpoint }) => endpoint.address.pipe.path)];
}

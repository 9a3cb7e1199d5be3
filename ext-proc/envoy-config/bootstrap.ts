import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Document, parseDocument } from 'yaml';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { exists } from '#core/exists.ts';
import { TLS_SECRET, tlsSecretPath, writeTlsSecret } from './api-certificate.ts';
import { deleteExisting, type Path, setExisting } from './existing-place.ts';
import { localReplyMappers } from './local-replies.ts';
import { boundAddresses, writeConnectionModule } from './per-address.ts';
import { replaceFile } from './replace-file.ts';

export function streamClusterName(index: number): string {
  return `gateway-stream-${index}`;
}

/** Path of the bootstrap. Its folder also has provider clusters, log rate limit and TLS secret. */
export function bootstrapPath(paths: RuntimePaths): string {
  return join(paths.envoyDir, 'envoy.yaml');
}

export function clustersPath(paths: RuntimePaths): string {
  return join(paths.envoyDir, 'clusters.json');
}

function logRatePath(paths: RuntimePaths): string {
  return join(paths.envoyDir, 'log-rate.json');
}

const TEMPLATE = new URL('../../envoy/envoy.yaml', import.meta.url);

/**
 * Rate limit of lines in Envoy's log: enough to see what happens, at most some 1.5 GB a day. Envoy
 * accepts such a limit only from a file of its own.
 */
const LOG_RATE_LIMIT = JSON.stringify({
  resources: [
    {
      '@type': 'type.googleapis.com/envoy.service.discovery.v3.Resource',
      name: 'access-log',
      resource: {
        '@type': 'type.googleapis.com/envoy.type.v3.TokenBucket',
        max_tokens: 500,
        tokens_per_fill: 50,
        fill_interval: '1s',
      },
    },
  ],
});

/** `envoy/envoy.yaml` with this deployment's values. `seed` seeds the hash of client addresses. */
export function renderBootstrap(config: GatewayConfig, paths: RuntimePaths, seed: number): string {
  const document = parseDocument(readFileSync(TEMPLATE, 'utf8'));
  const set = (path: Path, value: unknown) => setExisting(document, path, value);
  set(['admin', 'address', 'pipe', 'path'], paths.envoyAdminSocket);
  set([...CDS, 'path'], clustersPath(paths));
  set([...CDS, 'watched_directory', 'path'], paths.envoyDir);
  set([...INGRESS, 'address', 'socket_address', 'address'], config.listen.api.host);
  set([...INGRESS, 'address', 'socket_address', 'port_value'], config.listen.api.port);
  // Envoy opens `::` for IPv6 alone by default; other programs, Node too, accept both there.
  if (config.listen.api.host === '::') document.setIn([...INGRESS, 'address', 'socket_address', 'ipv4_compat'], true);
  set([...LOG_RATE, 'path_config_source', 'path'], logRatePath(paths));
  set([...INGRESS_HTTP, 'local_reply_config', 'mappers'], document.createNode(localReplyMappers()));
  set([...EGRESS, 'address', 'pipe', 'path'], paths.egressSocket);
  if (config.listen.tls !== undefined) {
    document.setIn([...INGRESS, 'filter_chains', 0, 'transport_socket'], document.createNode(transportSocket(paths)));
  }
  const workers = Array.from({ length: config.workers }, (_, index) => index);
  set(
    [...GATEWAY_CLUSTER, ...ENDPOINTS],
    document.createNode(workers.map((index) => pipeEndpoint(paths.extProcSocket(index)))),
  );
  if (config.workers === 1) deleteExisting(document, RETRIES);
  addStreamClusters(document, workers, paths);
  boundAddresses(document, config, paths, seed);
  return document.toString({ lineWidth: 0 });
}

/**
 * Writes everything that Envoy needs to start, each file by rename, so that a running Envoy never
 * reads half of one. Returns the bootstrap's path.
 */
export async function writeBootstrap(config: GatewayConfig, paths: RuntimePaths): Promise<string> {
  await mkdir(paths.envoyDir, { recursive: true });
  await mkdir(paths.socketDir, { recursive: true, mode: 0o700 });
  if (!(await exists(clustersPath(paths)))) {
    await replaceFile(clustersPath(paths), JSON.stringify({ version_info: 'empty', resources: [] }));
  }
  await replaceFile(logRatePath(paths), LOG_RATE_LIMIT);
  const seed = await writeConnectionModule(paths);
  if (config.listen.tls !== undefined) await writeTlsSecret(config.listen.tls, paths);
  await replaceFile(bootstrapPath(paths), renderBootstrap(config, paths, seed));
  return bootstrapPath(paths);
}

const CDS: Path = ['dynamic_resources', 'cds_config', 'path_config_source'];
const INGRESS: Path = ['static_resources', 'listeners', 0];
const INGRESS_HTTP: Path = [...INGRESS, 'filter_chains', 0, 'filters', 1, 'typed_config'];
const LOG_FILTERS: Path = [...INGRESS_HTTP, 'access_log', 0, 'filter', 'and_filter', 'filters'];
const LOG_RATE: Path = [...LOG_FILTERS, 1, 'extension_filter', 'typed_config', 'dynamic_config', 'config_source'];
const RETRIES: Path = [...INGRESS_HTTP, 'http_filters', 2, 'typed_config', 'grpc_service', 'retry_policy'];
const EGRESS: Path = ['static_resources', 'listeners', 1];
const CLUSTERS: Path = ['static_resources', 'clusters'];
const GATEWAY_CLUSTER: Path = [...CLUSTERS, 0];
const STREAM_CLUSTER: Path = [...CLUSTERS, 1];
const ENDPOINTS: Path = ['load_assignment', 'endpoints', 0, 'lb_endpoints'];

/** Replaces the template's stream cluster by one for each gateway process. */
function addStreamClusters(document: Document, workers: readonly number[], paths: RuntimePaths): void {
  const template: unknown = document.toJS().static_resources.clusters[1];
  document.deleteIn(STREAM_CLUSTER);
  for (const index of workers) {
    const here: Path = [...CLUSTERS, index + 1];
    document.addIn(CLUSTERS, document.createNode(template));
    setExisting(document, [...here, 'name'], streamClusterName(index));
    setExisting(document, [...here, 'load_assignment', 'cluster_name'], streamClusterName(index));
    setExisting(document, [...here, ...ENDPOINTS], document.createNode([pipeEndpoint(paths.streamSocket(index))]));
  }
}

function pipeEndpoint(path: string): object {
  return { endpoint: { address: { pipe: { path } } } };
}

/** Certificates come through SDS, so that they are renewed without a restart. */
function transportSocket(paths: RuntimePaths): object {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
      common_tls_context: {
        alpn_protocols: ['h2', 'http/1.1'],
        tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
        tls_certificate_sds_secret_configs: [
          {
            name: TLS_SECRET,
            sds_config: { resource_api_version: 'V3', path_config_source: { path: tlsSecretPath(paths) } },
          },
        ],
      },
    },
  };
}

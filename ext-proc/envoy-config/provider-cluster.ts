import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { CaBundle, HealthCheck, Provider } from '#core/config/gateway-config.ts';
import type { Authorization } from '#core/config/provider-auth.ts';
import { isLoopback } from '#core/net/loopback.ts';
import {
  bareHost,
  ENDPOINTS_SUFFIX,
  endpointEjection,
  healthChecks,
  isAddress,
  lbEndpoint,
  pickedOrLeast,
  socketMatches,
} from './endpoint-cluster.ts';
import type { EnvoyJson } from './envoy-json.ts';
import { authFilters, credentialsDigest, tokenClusterName, tokenFilters, withCodec } from './provider-auth-filters.ts';

/** What a provider's cluster is made of. */
export interface ClusterSource extends Authorization {
  readonly baseUrl: URL;
  /** Present: several servers, of which `baseUrl` is the first. */
  readonly endpoints?: readonly URL[] | undefined;
  readonly endpointPicker?: URL | undefined;
  readonly healthCheck?: HealthCheck | undefined;
  readonly trustedCa?: CaBundle | undefined;
}

export type Cluster = EnvoyJson;

/** Most bytes that Envoy buffers for a client that stops reading. */
const CONNECTION_BUFFER_BYTES = 262_144;
const HTTP2_STREAM_WINDOW = 262_144;
const HTTP2_STREAMS = 100;
const UNLIMITED = 100_000;

const names = new WeakMap<Provider, string>();

/** The value of the request header `x-gw-cluster`, such as `openai-3f0c9a7be21d`. */
export function clusterOf(provider: Provider): string {
  const known = names.get(provider);
  if (known !== undefined) return known;
  const name = clusterName(provider.name, provider);
  names.set(provider, name);
  return name;
}

/**
 * The name of a provider's cluster has a hash of its content, its bundle and its credentials. So a
 * change makes another cluster, and Envoy never changes one that serves streams. The bundle may be
 * that of the token endpoint alone. The cluster has no secrets.
 */
export function clusterName(providerName: string, source: ClusterSource): string {
  const { trustedCa, credentials } = source;
  const body = JSON.stringify(clusterBody(source, authFilters('', source, ''), '')) + (trustedCa?.digest ?? '');
  const content = credentials === undefined ? body : body + credentialsDigest(credentials);
  const suffix = source.endpoints === undefined ? '' : ENDPOINTS_SUFFIX;
  return `${providerName}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}${suffix}`;
}

/** `folder`, here and below: Envoy's, with the files that clusters name. */
export function trustedCaFolder(folder: string): string {
  return join(folder, 'trusted-ca');
}

/** The copy of a bundle that Envoy reads. The operator's file may change before Envoy reads it. */
export function trustedCaPath(folder: string, { digest }: CaBundle): string {
  return join(trustedCaFolder(folder), `${digest}.pem`);
}

/** The cluster of a provider, and that of its token endpoint. */
export function providerClusters(name: string, source: ClusterSource, folder: string): Cluster[] {
  const clusters = [providerCluster(name, source, folder)];
  const { auth, trustedCa } = source;
  if (auth?.kind === 'oauth2') {
    const tokens = { baseUrl: auth.tokenUrl, trustedCa };
    clusters.push(providerCluster(tokenClusterName(name), tokens, folder, tokenFilters()));
  }
  return clusters;
}

export function providerCluster(
  name: string,
  source: ClusterSource,
  folder = '',
  filters = authFilters(name, source, folder),
): Cluster {
  const type = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
  return { '@type': type, name, ...clusterBody(source, filters, folder) };
}

function clusterBody(provider: ClusterSource, filters: readonly EnvoyJson[], folder: string): Cluster {
  const { baseUrl, endpoints, endpointPicker, healthCheck, trustedCa } = provider;
  const caPath = trustedCa === undefined ? '' : trustedCaPath(folder, trustedCa);
  const host = bareHost(baseUrl);
  const secure = baseUrl.protocol === 'https:';
  return {
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    ...(endpoints === undefined ? oneProvider(baseUrl) : severalServers(endpoints, endpointPicker !== undefined)),
    ...(healthCheck === undefined ? {} : healthChecks(healthCheck)),
    // Below this share of healthy hosts Envoy uses all hosts ("panic"). The default would disable
    // the ejection of a single host.
    common_lb_config: { healthy_panic_threshold: { value: 0 } },
    // The gateway limits requests. Envoy's defaults of 1024 would refuse admitted ones.
    circuit_breakers: {
      thresholds: [
        {
          max_connections: UNLIMITED,
          max_pending_requests: UNLIMITED,
          max_requests: UNLIMITED,
          max_retries: UNLIMITED,
        },
      ],
    },
    upstream_connection_options: { tcp_keepalive: { keepalive_time: 30, keepalive_interval: 10, keepalive_probes: 3 } },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': { ...httpOptions(secure), ...withCodec(filters) },
    },
    ...(secure ? { transport_socket: tls(host, caPath) } : {}),
    ...(secure && endpoints !== undefined
      ? { transport_socket_matches: socketMatches(endpoints, (of) => tls(of, caPath)) }
      : {}),
  };
}

/**
 * One logical host, whose addresses are alternatives (happy eyeballs over IPv6 and IPv4). Load
 * balancers of providers return different addresses each time, so a new reply of DNS must not close
 * connections. A provider on the loopback is never ejected: refused connections cost nothing, and
 * it should get requests as soon as it is up.
 */
function oneProvider(url: URL): Cluster {
  const host = bareHost(url);
  return {
    connect_timeout: '3s',
    ...(isAddress(host)
      ? { type: 'STATIC' }
      : dns({ dns_lookup_family: 'ALL', all_addresses_in_single_endpoint: true })),
    load_assignment: { cluster_name: host, endpoints: [{ lb_endpoints: [lbEndpoint(url)] }] },
    ...(isLoopback(host) ? {} : { outlier_detection: EJECTION }),
  };
}

/**
 * Every address of every name is a server of its own, such as the pods of a headless Service. A
 * dead one is ejected sooner than a remote provider.
 */
function severalServers(urls: readonly URL[], arePicked: boolean): Cluster {
  const areAddresses = urls.every((url) => isAddress(bareHost(url)));
  return {
    connect_timeout: '1s',
    ...(areAddresses ? { type: 'STATIC' } : dns({ dns_lookup_family: 'V4_PREFERRED' })),
    load_assignment: { cluster_name: 'endpoints', endpoints: [{ lb_endpoints: urls.map(lbEndpoint) }] },
    ...(arePicked ? pickedOrLeast() : { lb_policy: 'LEAST_REQUEST' }),
    outlier_detection: endpointEjection(EJECTION),
  };
}

function dns(addresses: EnvoyJson): Cluster {
  return {
    cluster_type: {
      name: 'envoy.cluster.dns',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster',
        ...addresses,
        // TTLs are ignored: Docker's is 600 s, which kept a replaced container unavailable.
        dns_refresh_rate: '5s',
        dns_failure_refresh_rate: { base_interval: '1s', max_interval: '10s' },
        // A silent name server delays a start or reload by 2 tries, 6 s in all (measured).
        typed_dns_resolver_config: {
          name: 'envoy.network.dns_resolver.cares',
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig',
            query_timeout_seconds: 2,
            query_tries: 2,
          },
        },
      },
    },
  };
}

/**
 * After 20 failures in a row (no connection, reset, 502, 503, 504) a provider is ejected for 5 s,
 * and at most 10 s when it fails again. Meanwhile requests go to the next target at once instead of
 * waiting for a time-out. Any success resets the count. A 500 or 429 is not a failure.
 */
const EJECTION: EnvoyJson = {
  interval: '1s',
  base_ejection_time: '5s',
  max_ejection_time: '10s',
  max_ejection_percent: 100,
  consecutive_gateway_failure: 20,
  enforcing_consecutive_gateway_failure: 100,
  enforcing_consecutive_5xx: 0,
  enforcing_success_rate: 0,
};

/**
 * Closes idle connections before the provider does (Node and uvicorn after 5 s, load balancers
 * after 60 s). A request that is sent on a closing connection fails and is not retried.
 */
function httpOptions(secure: boolean): Cluster {
  const type = { '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions' };
  if (!secure) {
    return {
      ...type,
      common_http_protocol_options: { idle_timeout: '4s' },
      explicit_http_config: { http_protocol_options: {} },
    };
  }
  return {
    ...type,
    // Long-lived connections would never follow a change of DNS.
    common_http_protocol_options: { idle_timeout: '50s', max_connection_duration: '600s' },
    auto_config: {
      http_protocol_options: {},
      http2_protocol_options: {
        max_concurrent_streams: HTTP2_STREAMS,
        initial_stream_window_size: HTTP2_STREAM_WINDOW,
        // Room for the window of every stream, so that stopped readers do not delay others on the
        // connection.
        initial_connection_window_size: HTTP2_STREAM_WINDOW * HTTP2_STREAMS,
      },
    },
  };
}

/**
 * Envoy adds ALPN for h2 and http/1.1 by itself in auto_config. If the host is an address, there is
 * no SNI, and the certificate must name the address.
 */
function tls(host: string, caPath: string): Cluster {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      ...(isAddress(host) ? {} : { sni: host }),
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: 'TLSv1_2', tls_maximum_protocol_version: 'TLSv1_3' },
        validation_context: {
          trusted_ca: { filename: caPath },
          match_typed_subject_alt_names: [
            { san_type: isAddress(host) ? 'IP_ADDRESS' : 'DNS', matcher: { exact: host } },
          ],
        },
      },
    },
  };
}

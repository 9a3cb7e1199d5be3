import { createHash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

/**
 * The Envoy cluster of one provider. It lives beside the loader because its content gives it its
 * name: a changed cluster is another cluster, and Envoy never has to touch one that streams are
 * running on. The provider's secret is no part of it.
 */
export interface ProviderEndpoint {
  readonly baseUrl: URL;
  /** PEM bundle that the certificates of https providers are checked against. */
  readonly trustedCaPath?: string | undefined;
}

type Json = string | number | boolean | readonly Json[] | { readonly [name: string]: Json };
export type Cluster = { readonly [name: string]: Json };

/** A client that stops reading holds this much here, whatever the provider still sends. */
const CONNECTION_BUFFER_BYTES = 262_144;
const HTTP2_STREAM_WINDOW = 262_144;
const HTTP2_STREAMS = 100;
const UNLIMITED = 100_000;

/** `openai-3f0c9a7be21d`: what the request header `x-gw-cluster` carries. */
export function clusterName(providerName: string, endpoint: ProviderEndpoint): string {
  const content = JSON.stringify(clusterBody(endpoint));
  return `${providerName}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}`;
}

export function providerCluster(name: string, endpoint: ProviderEndpoint): Cluster {
  return { '@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster', name, ...clusterBody(endpoint) };
}

function clusterBody(endpoint: ProviderEndpoint): Cluster {
  const { baseUrl } = endpoint;
  const host = bareHost(baseUrl);
  const secure = baseUrl.protocol === 'https:';
  return {
    connect_timeout: '3s',
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    ...discovery(host),
    load_assignment: {
      cluster_name: host,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(host, portOf(baseUrl)) } }] }],
    },
    // Ours is the admission; Envoy's defaults of 1024 would refuse what was already admitted and
    // held.
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
    ...ejection(host),
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': httpOptions(secure),
    },
    ...(secure ? { transport_socket: tls(host, endpoint.trustedCaPath) } : {}),
  };
}

/**
 * One logical host whose every address is an alternative (happy eyeballs over IPv6 and IPv4),
 * because provider names stand behind load balancers that answer with ever other addresses: a new
 * answer of DNS closes no connection.
 */
function discovery(host: string): Cluster {
  if (isIPv4(host) || isIPv6(host)) return { type: 'STATIC' };
  return {
    cluster_type: {
      name: 'envoy.cluster.dns',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster',
        dns_lookup_family: 'ALL',
        all_addresses_in_single_endpoint: true,
        respect_dns_ttl: true,
        dns_min_refresh_rate: '5s',
        dns_refresh_rate: '30s',
        dns_failure_refresh_rate: { base_interval: '1s', max_interval: '10s' },
        // Bounds how long a silent name server holds up the start and a reload: 2 tries, 6 s in all
        // (measured).
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
 * and 10 s at most when it fails again, so that requests go to the next target at once instead of
 * waiting for a time-out. Any success resets the count; a 500 or 429 does not count. A provider on
 * the loopback is never ejected: its refusals cost nothing, and it should answer the moment it is
 * up.
 */
function ejection(host: string): Cluster {
  if (isLoopback(host)) return {};
  return {
    outlier_detection: {
      interval: '1s',
      base_ejection_time: '5s',
      max_ejection_time: '10s',
      max_ejection_percent: 100,
      split_external_local_origin_errors: true,
      consecutive_local_origin_failure: 20,
      enforcing_consecutive_local_origin_failure: 100,
      consecutive_gateway_failure: 20,
      enforcing_consecutive_gateway_failure: 100,
      enforcing_consecutive_5xx: 0,
      enforcing_success_rate: 0,
      enforcing_local_origin_success_rate: 0,
    },
    // Below this share of healthy hosts Envoy would ignore ejection altogether ("panic"); with one
    // host that is always.
    common_lb_config: { healthy_panic_threshold: { value: 0 } },
  };
}

/**
 * Idle connections are given up before the other side does (Node and uvicorn after 5 s, load
 * balancers after 60 s): a request sent into a closing connection would fail without being
 * answered, and such a request is not repeated.
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
    // Long-lived connections would never see a changed DNS answer.
    common_http_protocol_options: { idle_timeout: '50s', max_connection_duration: '600s' },
    auto_config: {
      http_protocol_options: {},
      http2_protocol_options: {
        max_concurrent_streams: HTTP2_STREAMS,
        initial_stream_window_size: HTTP2_STREAM_WINDOW,
        // Room for every stream's window: readers that stopped cannot hold up the others on the
        // same connection.
        initial_connection_window_size: HTTP2_STREAM_WINDOW * HTTP2_STREAMS,
      },
    },
  };
}

/**
 * Envoy adds ALPN for h2 and http/1.1 by itself in auto_config. An address as host has no SNI, its
 * certificate must name the address.
 */
function tls(host: string, trustedCaPath: string | undefined): Cluster {
  const isAddress = isIPv4(host) || isIPv6(host);
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      ...(isAddress ? {} : { sni: host }),
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: 'TLSv1_2', tls_maximum_protocol_version: 'TLSv1_3' },
        validation_context: {
          trusted_ca: { filename: trustedCaPath ?? '' },
          match_typed_subject_alt_names: [{ san_type: isAddress ? 'IP_ADDRESS' : 'DNS', matcher: { exact: host } }],
        },
      },
    },
  };
}

function socketAddress(host: string, port: number): Cluster {
  return { socket_address: { address: host, port_value: port } };
}

function portOf(url: URL): number {
  return Number(url.port || (url.protocol === 'https:' ? 443 : 80));
}

/** Without the brackets that a URL puts around IPv6. */
function bareHost(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

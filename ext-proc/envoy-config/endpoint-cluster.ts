import { isIP } from 'node:net';
import type { HealthCheck } from '#core/config/gateway-config.ts';
import type { EnvoyJson } from './envoy-json.ts';

/**
 * Parts of the cluster of a provider that has several servers, its endpoints. For each request
 * Envoy chooses two healthy ones at random and takes the one with fewer open requests.
 */

/** Suffix of clusters at which Envoy retries failures at another endpoint (envoy/envoy.yaml). */
export const ENDPOINTS_SUFFIX = '-endpoints';

const FAILURES_IN_A_ROW = 5;
const SOCKET_MATCH = 'envoy.transport_socket_match';

/** Removes the brackets of an IPv6 address in a URL. */
export function bareHost(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

export function isAddress(host: string): boolean {
  return isIP(host) !== 0;
}

/** Endpoint for `url`, with the Host header that route and health check send. */
export function lbEndpoint(url: URL): EnvoyJson {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  return {
    endpoint: {
      address: { socket_address: { address: bareHost(url), port_value: port } },
      hostname: url.host,
      health_check_config: { hostname: url.host },
    },
    metadata: { filter_metadata: { [SOCKET_MATCH]: { host: bareHost(url) } } },
  };
}

/**
 * Chooses the endpoint that a header names if the cluster has it and it is healthy, otherwise as
 * without a picker. So a picker cannot direct a request elsewhere. The endpoint gets the header
 * too: if the route removed it, Envoy would not have it when it chooses.
 */
export function pickedOrLeast(): EnvoyJson {
  const policy = (name: string, type: string, config: EnvoyJson): EnvoyJson => ({
    policies: [
      {
        typed_extension_config: {
          name: `envoy.load_balancing_policies.${name}`,
          typed_config: { '@type': `type.googleapis.com/envoy.extensions.load_balancing_policies.${type}`, ...config },
        },
      },
    ],
  });
  return {
    load_balancing_policy: policy('override_host', 'override_host.v3.OverrideHost', {
      override_host_sources: [{ header: 'x-gateway-destination-endpoint' }],
      fallback_policy: policy('least_request', 'least_request.v3.LeastRequest', {}),
    }),
  };
}

/** One TLS configuration for each host, because each certificate has the name of its host. */
export function socketMatches(urls: readonly URL[], socketOf: (host: string) => EnvoyJson): EnvoyJson[] {
  return [...new Set(urls.map(bareHost))].map((host) => ({
    name: host,
    match: { host },
    transport_socket: socketOf(host),
  }));
}

/**
 * Ejects an endpoint after few failed connections, for 5 s, and at most 10 s when it fails again.
 * Without open requests a dead one would be chosen more often than others. An endpoint that
 * responds 502, 503 or 504 is ejected as late as a single provider: an overloaded group must not be
 * ejected as a whole, and another endpoint gets the request anyway. Envoy counts resets with failed
 * connections, and each request that gets a connection begins that count again. So resets eject an
 * endpoint only if the requests were open together, such as when its server crashes.
 */
export function endpointEjection(singleProvider: EnvoyJson): EnvoyJson {
  return {
    ...singleProvider,
    split_external_local_origin_errors: true,
    consecutive_local_origin_failure: FAILURES_IN_A_ROW,
    enforcing_consecutive_local_origin_failure: 100,
    enforcing_local_origin_success_rate: 0,
  };
}

/**
 * A server is unhealthy after three checks without a response in time, or after one response that
 * is not 2xx, and healthy after one that is.
 */
export function healthChecks({ path, intervalMs }: HealthCheck): EnvoyJson {
  const interval = `${intervalMs / 1000}s`;
  const check = {
    timeout: `${Math.min(intervalMs, 3000) / 1000}s`,
    interval,
    // Interval for a provider without requests. Envoy's default is a minute.
    no_traffic_interval: interval,
    // Spreads the checks of many gateways.
    interval_jitter_percent: 10,
    unhealthy_threshold: 3,
    healthy_threshold: 1,
    http_health_check: { path, expected_statuses: [{ start: 200, end: 300 }] },
  };
  // A server that has left DNS is removed at once.
  return { health_checks: [check], ignore_health_on_host_removal: true };
}

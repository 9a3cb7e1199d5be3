import { isIP } from 'node:net';
import type { HealthCheck } from '#core/config/gateway-config.ts';
import type { JsonObject } from './provider-auth-filters.ts';

/**
 * Parts of the cluster of a provider that has several servers, its endpoints: Envoy gives each
 * request to one that is healthy, the one of two chosen at random that has fewer requests open.
 */

/**
 * By the end of the cluster's name Envoy's egress route chooses which failures it repeats at
 * another endpoint (envoy/envoy.yaml).
 */
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

/** `url` as Envoy connects to it, with the Host header that it gets from route and health check. */
export function lbEndpoint(url: URL): JsonObject {
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
 * The endpoint that a header names, if it is one of the cluster and healthy; else as without a
 * picker. A picker cannot lead a request elsewhere. The endpoint gets the header too: Envoy would
 * choose after the route has removed it.
 */
export function pickedOrLeast(): JsonObject {
  const policy = (name: string, type: string, config: JsonObject): JsonObject => ({
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

/** One TLS configuration for each host, since each has a certificate of its own name. */
export function socketMatches(urls: readonly URL[], socketOf: (host: string) => JsonObject): JsonObject[] {
  return [...new Set(urls.map(bareHost))].map((host) => ({
    name: host,
    match: { host },
    transport_socket: socketOf(host),
  }));
}

/**
 * Leaves an endpoint for 5 s, and 10 s at most when it fails again, after few failures without an
 * answer (no connection, reset): a dead one has no open requests, so it would be chosen more often
 * than others. An endpoint that answers 502, 503 or 504 is left as late as a single provider: a
 * group that is overloaded must not be taken out whole, and another endpoint gets the request
 * anyway.
 */
export function endpointEjection(singleProvider: JsonObject): JsonObject {
  return { ...singleProvider, consecutive_local_origin_failure: FAILURES_IN_A_ROW };
}

/**
 * Takes a server out after three checks without an answer in time, or one answer that is not 2xx,
 * and back in after one that is.
 */
export function healthChecks({ path, intervalMs }: HealthCheck): JsonObject {
  const interval = `${intervalMs / 1000}s`;
  const check = {
    timeout: `${Math.min(intervalMs, 3000) / 1000}s`,
    interval,
    // Of a provider without requests; Envoy's default is a minute.
    no_traffic_interval: interval,
    // Many gateways do not ask at the same moment.
    interval_jitter_percent: 10,
    unhealthy_threshold: 3,
    healthy_threshold: 1,
    http_health_check: { path, expected_statuses: [{ start: 200, end: 300 }] },
  };
  // A server that has left DNS is left at once.
  return { health_checks: [check], ignore_health_on_host_removal: true };
}

import { askAdmin } from './envoy-admin.ts';

/**
 * Envoy's own metrics for operators, under their own names. Its admin is a private socket, which
 * cannot be scraped. Envoy has about 700 series for one provider. These are 61, plus 18 for each
 * further provider, or 25 for one with tokens.
 */
const WANTED: readonly string[] = [
  // Clients.
  'http\\.ingress\\.downstream_cx_(active|total|protocol_error|rx_bytes_total|tx_bytes_total)',
  'http\\.ingress\\.downstream_rq_(active|total|[1-5]xx|rx_reset|timeout|header_timeout|idle_timeout|overload_close|too_many_premature_resets)',
  'listener\\.[^/]*_[0-9]+\\.(downstream_cx_overflow|downstream_cx_overload_reject|downstream_global_cx_overflow|ssl\\.connection_error)',
  'overload\\..*\\.(pressure|active)',
  // Lines that were left out of Envoy's log.
  'access_log\\.process_ratelimit\\.denied',
  // Calls of the gateway processes. A direct response is a request that none of them decided.
  'http\\.ingress\\.(rq_direct_response|ext_proc\\.(streams_started|streams_failed|message_timeouts|spurious_msgs_received|rejected_header_mutations))',
  // Providers, gateway processes and their streams, each a cluster.
  'cluster\\..*\\.membership_(healthy|total)',
  'cluster\\..*\\.upstream_cx_(active|total|connect_fail|connect_timeout|none_healthy)',
  'cluster\\..*\\.upstream_rq_(active|total|retry|rx_reset|pending_overflow)',
  'cluster\\..*\\.(outlier_detection\\.ejections_(active|enforced_total)|ssl\\.(connection_error|fail_verify_error|fail_verify_san)|update_failure)',
  // Tokens of providers, fetched by Envoy.
  'cluster\\..*credential_injector\\.oauth2\\.token_(requested|fetched|fetch_failed_.*)',
  'cluster_manager\\.(active_clusters|warming_clusters|cds\\.update_(success|rejected|failure))',
  'server\\.(live|uptime|concurrency|memory_allocated|memory_heap_size|memory_physical_size)',
];
/** Envoy 1.39.3 appends the name of the filter to the name of the cluster. */
const FILTER_IN_NAME = /(-[0-9a-f]{12}(?:-endpoints)?)credential_injector"/g;
const PATH = `/stats/prometheus?filter=${encodeURIComponent(`^(${WANTED.join('|')})$`)}`;

/** Envoy's part of the metrics page, which also says whether Envoy responded. */
export async function envoyStats(adminSocket: string): Promise<string> {
  const stats = await askAdmin(adminSocket, PATH);
  const up = [
    "# HELP gateway_envoy_up 1 when Envoy's admin answers; without it there are no envoy_ series.",
    '# TYPE gateway_envoy_up gauge',
    `gateway_envoy_up ${stats === undefined ? 0 : 1}`,
  ];
  return `${up.join('\n')}\n${stats?.replace(FILTER_IN_NAME, '$1"') ?? ''}`;
}

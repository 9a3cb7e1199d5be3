import { httpFilter, listener, socketAddress, staticCluster } from './envoy-process.ts';
import { limitCluster, limitFilters, limitsOfRoute, type PeerLimits } from './peer-limits.ts';

/** The configuration that Agent Router's own controller generates for one route. */
const BACKEND = 'bench/provider/route/bench/rule/0/ref/0';
const NAMESPACE = 'io.envoy.ai_gateway';

/**
 * The configuration of its ext_proc service. A binary built without the makefile has the version
 * `dev`.
 */
export function peerFilterConfig(): object {
  return {
    version: 'dev',
    backends: [{ name: BACKEND, modelNameOverride: '', schema: { name: 'OpenAI', prefix: 'v1' } }],
    globalLLMRequestCosts: [{ metadataKey: 'total_tokens', type: 'TotalToken' }],
  };
}

/** The bootstrap as `internal/extensionserver` of the AI Gateway generates it. */
export function peerBootstrap(port: number, providerPort: number, socket: string, limits?: PeerLimits): object {
  const filters = limits && limitFilters(limits);
  const usedTokens = `%DYNAMIC_METADATA(${NAMESPACE}:total_tokens)%`;
  const attribute = (part: string, name: string) => `xds.${part}.filter_metadata['aigateway.envoy.io']['${name}']`;
  const extProc = (settings: object) =>
    httpFilter('ext_proc', 'ext_proc.v3.ExternalProcessor', {
      grpc_service: { envoy_grpc: { cluster_name: 'ext_proc' }, timeout: '30s' },
      metadata_options: { receiving_namespaces: { untyped: [NAMESPACE] } },
      message_timeout: '10s',
      allow_mode_override: true,
      ...settings,
    });
  const contentLength = {
    append_action: 'ADD_IF_ABSENT',
    header: { key: 'content-length', value: `%DYNAMIC_METADATA(${NAMESPACE}:content_length)%` },
  };
  const upstreamFilters = [
    extProc({
      request_attributes: [
        attribute('upstream_host_metadata', 'per_route_rule_backend_name'),
        attribute('cluster_metadata', 'per_route_rule_backend_name'),
        attribute('route_metadata', 'aigw_route_name'),
      ],
      processing_mode: { request_header_mode: 'SEND', response_header_mode: 'SKIP' },
    }),
    httpFilter('header_mutation', 'header_mutation.v3.HeaderMutation', {
      mutations: { request_mutations: [{ append: contentLength }] },
    }),
    httpFilter('upstream_codec', 'upstream_codec.v3.UpstreamCodec'),
  ];
  const everyModel = { prefix: '/', headers: [{ name: 'x-ai-eg-model', present_match: true }] };
  const routes = [
    {
      match: everyModel,
      route: { cluster: 'provider', timeout: '0s' },
      metadata: { filter_metadata: { 'aigateway.envoy.io': { aigw_route_name: 'bench/route' } } },
      ...(limits ? { typed_per_filter_config: limitsOfRoute(usedTokens) } : {}),
    },
    // Applies until the ext_proc service has set the model's header.
    { match: { prefix: '/' }, direct_response: { status: 404 } },
  ];
  const connectionManager = {
    access_log: [
      {
        name: 'tokens',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog',
          log_format: {
            json_format: {
              status: '%RESPONSE_CODE%',
              duration: '%DURATION%',
              tokens: usedTokens,
            },
          },
        },
      },
    ],
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
    http_filters: [
      ...(filters ? [filters.before] : []),
      extProc({
        processing_mode: {
          request_header_mode: 'SEND',
          request_body_mode: 'BUFFERED',
          response_header_mode: 'SEND',
          response_body_mode: 'BUFFERED',
        },
      }),
      ...(filters ? [filters.after] : []),
      httpFilter('router', 'router.v3.Router'),
    ],
  };
  const protocol = (options: object) => ({
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        ...options,
      },
    },
  });
  const http2 = { initial_connection_window_size: 1_048_576, initial_stream_window_size: 65_536 };
  const grpc = protocol({ explicit_http_config: { http2_protocol_options: http2 } });
  const large = { per_connection_buffer_limit_bytes: 52_428_800 };
  return {
    static_resources: {
      listeners: [{ ...listener(port, connectionManager), ...large }],
      clusters: [
        ...(limits ? [limitCluster(limits, grpc)] : []),
        staticCluster(
          'ext_proc',
          { pipe: { path: socket } },
          {
            ...large,
            ...grpc,
          },
        ),
        staticCluster('provider', socketAddress(providerPort), {
          ...large,
          ...protocol({ explicit_http_config: { http_protocol_options: {} }, http_filters: upstreamFilters }),
          metadata: { filter_metadata: { 'aigateway.envoy.io': { per_route_rule_backend_name: BACKEND } } },
        }),
      ],
    },
  };
}

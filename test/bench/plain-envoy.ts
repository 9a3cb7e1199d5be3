import {
  httpFilter,
  listener,
  type OtherEnvoy,
  socketAddress,
  startOtherEnvoy,
  staticCluster,
} from './envoy-process.ts';

/**
 * The baseline of the bench: an Envoy that only forwards to the same provider. No keys, no limits,
 * no accounting.
 */
export function startPlainEnvoy(providerPort: number): Promise<OtherEnvoy> {
  const routes = [{ match: { prefix: '/' }, route: { cluster: 'provider', timeout: '0s' } }];
  const connectionManager = {
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
    http_filters: [httpFilter('router', 'router.v3.Router')],
  };
  return startOtherEnvoy((port) => ({
    static_resources: {
      listeners: [listener(port, connectionManager)],
      clusters: [staticCluster('provider', socketAddress(providerPort))],
    },
  }));
}

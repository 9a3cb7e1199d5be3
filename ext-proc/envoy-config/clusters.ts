import { createHash } from 'node:crypto';
import type { GatewayConfig, Provider } from '#core/config/gateway-config.ts';
import { type Cluster, clusterOf, providerClusters } from './provider-cluster.ts';

/** Envoy's clusters by name: one for each provider of a model, and one for its token endpoint. */
export type Clusters = ReadonlyMap<string, Cluster>;

/** Unused providers have no cluster, so that Envoy does not look up their names. */
export function clustersOf(config: GatewayConfig, folder: string): Clusters {
  const clusters = new Map<string, Cluster>();
  for (const provider of usedProviders(config)) {
    for (const cluster of providerClusters(clusterOf(provider), provider, folder))
      clusters.set(String(cluster.name), cluster);
  }
  return clusters;
}

/** Providers that some model can be served by. */
export function usedProviders(config: GatewayConfig): Provider[] {
  const used = new Set<Provider>();
  for (const model of config.models.values()) {
    for (const { provider } of model.targets) used.add(provider);
  }
  return [...used];
}

export interface ClusterFile {
  /** Depends on the content alone; Envoy's admin shows which version it has loaded. */
  readonly version: string;
  /** The DiscoveryResponse that Envoy reads, as JSON. */
  readonly text: string;
}

export function clusterFile(clusters: Clusters): ClusterFile {
  const resources = [...clusters.values()].sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
  const version = createHash('sha256').update(JSON.stringify(resources)).digest('hex').slice(0, 16);
  return { version, text: `${JSON.stringify({ version_info: version, resources }, null, 1)}\n` };
}

import { createHash } from 'node:crypto';
import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import { type Cluster, providerCluster } from '../../core/config/provider-cluster.ts';

/** Envoy's clusters by name: one for each provider that some model can be served by. */
export type Clusters = ReadonlyMap<string, Cluster>;

/** A provider that no model uses has none, so that Envoy does not look up names for nothing. */
export function clustersOf(config: GatewayConfig): Clusters {
  const clusters = new Map<string, Cluster>();
  for (const model of config.models.values()) {
    for (const { provider } of model.targets)
      clusters.set(provider.cluster, providerCluster(provider.cluster, provider));
  }
  return clusters;
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

import type { Clock } from '#core/clock.ts';
import { formatAddress } from '#core/config/network-names.ts';
import { askServer } from '#core/net/ask-server.ts';

/** State of the cluster file in Envoy's admin. */
export interface ClusterState {
  /** Version of the file that was last accepted whole. */
  readonly version: string;
  /** Number of files that Envoy has refused: invalid, or not readable as a DiscoveryResponse. */
  readonly refusals: number;
  /** Clusters that accept requests, without those that are still warming. */
  readonly active: ReadonlySet<string>;
}

const TIMEOUT_MS = 2000;
const SERVER_INFO_MS = 10_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MOST_SERVERS = 8;

/** `undefined`: Envoy does not respond. */
export async function readClusterState(socketPath: string): Promise<ClusterState | undefined> {
  const stats = await askAdmin(socketPath, '/stats?filter=cluster_manager.cds');
  const dump = await askAdmin(socketPath, '/config_dump?resource=dynamic_active_clusters&mask=cluster.name');
  if (stats === undefined || dump === undefined) return undefined;
  const stat = (name: string): string =>
    new RegExp(`^cluster_manager\\.cds\\.${name}: "?([^"\\n]*)"?$`, 'm').exec(stats)?.[1] ?? '';
  return {
    version: stat('version_text'),
    refusals: Number(stat('update_rejected')) + Number(stat('update_failure')),
    active: new Set((JSON.parse(dump) as ClusterDump).configs?.flatMap(({ cluster }) => cluster?.name ?? [])),
  };
}

interface ClusterDump {
  readonly configs?: readonly { readonly cluster?: { readonly name?: string } }[];
}

/** State of Envoy, and the clusters that it does not use now. */
export interface EnvoyState {
  /** `1.39.3` */
  readonly version: string;
  readonly state: string;
  readonly uptimeMs: number;
  /** Clusters that get no requests: all of their hosts are ejected or fail their health checks. */
  readonly ejected: ReadonlySet<string>;
  /** By cluster, some of the servers that get no requests, with the reason. */
  readonly serversOut: ReadonlyMap<string, readonly string[]>;
}

type ServerInfoState = Omit<EnvoyState, 'ejected' | 'serversOut'>;

/**
 * Reads the state at each call. `undefined`: Envoy does not respond. `/server_info` has 118 KB.
 * Read every two seconds, it cost an idle gateway a sixth of its CPU, so its content is cached for
 * some seconds. Ejected clusters are always current.
 */
export function createEnvoyStateReader(
  socketPath: string,
  clock: Pick<Clock, 'monotonicMs'>,
): () => Promise<EnvoyState | undefined> {
  let kept: { readonly atMs: number; readonly info: ServerInfoState } | undefined;
  return async () => {
    const nowMs = clock.monotonicMs();
    const isFresh = kept !== undefined && nowMs < kept.atMs + SERVER_INFO_MS;
    const [info, clusters] = await Promise.all([
      isFresh ? kept?.info : readServerInfo(socketPath),
      askAdmin(socketPath, '/clusters?format=json'),
    ]);
    if (info === undefined || clusters === undefined) {
      kept = undefined;
      return undefined;
    }
    if (!isFresh) kept = { atMs: nowMs, info };
    const sinceMs = nowMs - (kept?.atMs ?? nowMs);
    return { ...info, uptimeMs: info.uptimeMs + sinceMs, ...clustersOut(JSON.parse(clusters)) };
  };
}

async function readServerInfo(socketPath: string): Promise<ServerInfoState | undefined> {
  const info = await askAdmin(socketPath, '/server_info');
  if (info === undefined) return undefined;
  const { version = '', state = '', uptime_current_epoch = '' }: ServerInfo = JSON.parse(info);
  return {
    version: version.split('/')[1] ?? version,
    state,
    uptimeMs: Number.parseFloat(uptime_current_epoch) * 1000,
  };
}

interface ServerInfo {
  /** `6eb0d2d97489/1.39.3/Clean/RELEASE/BoringSSL` */
  readonly version?: string;
  readonly state?: string;
  /** `12s` */
  readonly uptime_current_epoch?: string;
  readonly command_line_options?: { readonly drain_time?: string };
}

interface ClusterStatuses {
  readonly cluster_statuses?: readonly {
    readonly name?: string;
    readonly host_statuses?: readonly HostStatus[];
  }[];
}

interface HostStatus {
  readonly address?: { readonly socket_address?: { readonly address?: string; readonly port_value?: number } };
  readonly health_status?: {
    readonly failed_outlier_check?: boolean;
    readonly failed_active_health_check?: boolean;
  };
}

function clustersOut({ cluster_statuses = [] }: ClusterStatuses): Pick<EnvoyState, 'ejected' | 'serversOut'> {
  const ejected = new Set<string>();
  const serversOut = new Map<string, readonly string[]>();
  for (const { name, host_statuses: hosts = [] } of cluster_statuses) {
    const out = hosts.flatMap(outOf);
    if (name === undefined || out.length === 0) continue;
    serversOut.set(name, out.slice(0, MOST_SERVERS));
    if (out.length === hosts.length) ejected.add(name);
  }
  return { ejected, serversOut };
}

function outOf({ address, health_status: health }: HostStatus): string[] {
  const { address: host = '', port_value: port = 0 } = address?.socket_address ?? {};
  const server = formatAddress({ host, port });
  if (health?.failed_active_health_check === true) return [`${server} (health check)`];
  return health?.failed_outlier_check === true ? [`${server} (ejected)`] : [];
}

/**
 * Drains the public listener. It serves for Envoy's drain time, but every response ends its
 * connection. Then it accepts no new ones. Egress stays open. Resolves to the drain time.
 * `undefined`: Envoy does not respond.
 */
export async function drainIngress(socketPath: string): Promise<number | undefined> {
  const info = await askAdmin(socketPath, '/server_info');
  const asked = await askAdmin(socketPath, '/drain_listeners?inboundonly&graceful', 'POST');
  if (info === undefined || asked === undefined) return undefined;
  const { command_line_options: { drain_time = '600s' } = {} }: ServerInfo = JSON.parse(info);
  return Number.parseFloat(drain_time) * 1000;
}

/**
 * Requests that clients have not received yet, and the bytes of complete responses that they have
 * not read. `undefined`: Envoy does not respond.
 */
export async function readIngressLoad(socketPath: string) {
  const stats = await askAdmin(socketPath, '/stats?filter=%5Ehttp%5C.ingress%5C.downstream_');
  if (stats === undefined) return undefined;
  const stat = (name: string): number =>
    Number(new RegExp(`^http\\.ingress\\.downstream_${name}: (\\d+)$`, 'm').exec(stats)?.[1] ?? 0);
  return { requests: stat('rq_active'), bufferedBytes: stat('cx_tx_bytes_buffered') };
}

/** `undefined`: Envoy does not respond. */
export function askAdmin(
  socketPath: string,
  path: string,
  method: 'GET' | 'POST' = 'GET',
): Promise<string | undefined> {
  return askServer({ socketPath, method, path }, TIMEOUT_MS, MAX_ANSWER_BYTES).then(
    ({ status, text }) => (status === 200 ? text : undefined),
    () => undefined,
  );
}

import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Paths by which the processes of one deployment find each other: files under the data folder,
 * sockets in a folder with a short path.
 */
export interface RuntimePaths {
  readonly dataDir: string;
  /** Generated bootstrap and xDS files; Envoy watches it. */
  readonly envoyDir: string;
  readonly postgresDir: string;
  /** Files of money that PostgreSQL has not taken yet: spools, journals, recent charges. */
  readonly spoolDir: string;
  /** Mode 0700. Also where the embedded PostgreSQL's socket is found. */
  readonly socketDir: string;
  /**
   * Sockets on which gateway process `index` takes ext_proc streams, and serves routed requests.
   */
  extProcSocket(index: number): string;
  streamSocket(index: number): string;
  /** Envoy's egress listener: provider calls go in here. */
  readonly egressSocket: string;
  readonly envoyAdminSocket: string;
  /**
   * Socket on which gateway process `index`, if it is not the first, gives its metrics to the
   * first.
   */
  metricsSocket(index: number): string;
  /** The key of readiness probes, shared by the gateway processes. */
  readonly probeKey: string;
}

/**
 * sun_path holds 107 bytes; a clone in a deep folder must still work, so long paths move to the
 * temporary folder under a hash.
 */
const LONGEST_SOCKET_DIR = 80;

export function runtimePaths(env: Readonly<Record<string, string | undefined>>): RuntimePaths {
  const dataDir = resolve(env.GATEWAY_DATA ?? '.data');
  const inside = join(dataDir, 'run');
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const socketDir =
    Buffer.byteLength(inside) <= LONGEST_SOCKET_DIR ? inside : join(tmpdir(), `inference-gateway-${hash}`);
  return {
    dataDir,
    envoyDir: join(dataDir, 'envoy'),
    postgresDir: join(dataDir, 'postgres'),
    spoolDir: join(dataDir, 'spool'),
    socketDir,
    extProcSocket: (index) => join(socketDir, `ext-proc-${index}.sock`),
    streamSocket: (index) => join(socketDir, `stream-${index}.sock`),
    egressSocket: join(socketDir, 'egress.sock'),
    envoyAdminSocket: join(socketDir, 'envoy-admin.sock'),
    metricsSocket: (index) => join(socketDir, `metrics-${index}.sock`),
    probeKey: join(socketDir, 'probe-key'),
  };
}

/**
 * URL of a database of the embedded PostgreSQL, whichever process runs that server. It names port
 * and TLS because `pg` would otherwise take them from PGPORT and PGSSLMODE.
 */
export function embeddedDatabaseUrl({ socketDir }: Pick<RuntimePaths, 'socketDir'>, database = 'gateway'): string {
  return `postgres://gateway@/${database}?host=${encodeURIComponent(socketDir)}&port=5432&sslmode=disable`;
}

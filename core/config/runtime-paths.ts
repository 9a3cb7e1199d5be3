import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** sun_path has 107 bytes: deep folders have sockets in the temporary folder, under a hash. */
const LONGEST_SOCKET_DIR = 80;

type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable is one that is not set, as environment files and compose give them. */
export function configPath(env: Environment): string {
  return env.GATEWAY_CONFIG || 'config/gateway.yaml';
}

/** Paths of one deployment: files in the data folder, sockets in a folder with a short path. */
export function runtimePaths(env: Environment) {
  // Empty would be the working folder, whose envoy/envoy.yaml the generated one would overwrite.
  const dataDir = resolve(env.GATEWAY_DATA || '.data');
  const inside = join(dataDir, 'run');
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const socketDir =
    Buffer.byteLength(inside) <= LONGEST_SOCKET_DIR ? inside : join(tmpdir(), `inference-gateway-${hash}`);
  return {
    dataDir,
    /** Generated bootstrap and xDS files, which Envoy watches. */
    envoyDir: join(dataDir, 'envoy'),
    postgresDir: join(dataDir, 'postgres'),
    chargeLogDir: join(dataDir, 'spool'),
    /** Folder with mode 0700. Also has the socket of the embedded PostgreSQL. */
    socketDir,
    /** Sockets of gateway process `index`: for ext_proc streams, and for routed requests. */
    extProcSocket: (index: number) => join(socketDir, `ext-proc-${index}.sock`),
    streamSocket: (index: number) => join(socketDir, `stream-${index}.sock`),
    /** Envoy's egress listener, for calls of providers. */
    egressSocket: join(socketDir, 'egress.sock'),
    envoyAdminSocket: join(socketDir, 'envoy-admin.sock'),
    /** Socket on which gateway process `index` serves its metrics to the first process. */
    metricsSocket: (index: number) => join(socketDir, `metrics-${index}.sock`),
    /** The key of readiness probes, shared by the gateway processes. */
    probeKey: join(socketDir, 'probe-key'),
  };
}

export type RuntimePaths = Readonly<ReturnType<typeof runtimePaths>>;

/** URL of an embedded database, with port and TLS: `pg` would read PGPORT and PGSSLMODE. */
export function embeddedDatabaseUrl({ socketDir }: Pick<RuntimePaths, 'socketDir'>, database = 'gateway'): string {
  return `postgres://gateway@/${database}?host=${encodeURIComponent(socketDir)}&port=5432&sslmode=disable`;
}

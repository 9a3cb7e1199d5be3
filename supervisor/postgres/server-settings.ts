import type { RuntimePaths } from '#core/config/runtime-paths.ts';

/**
 * Settings for the command line, so that a new release's settings also apply to an old database
 * folder. All others have PostgreSQL's defaults.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  max_connections: '60',
  shared_buffers: '128MB',
  effective_cache_size: '512MB',
  max_wal_size: '1GB',
  // A commit writes at most some 100 KB. The default of 4 MB would stay in memory.
  wal_buffers: '1MB',
  // A charge is durable when its commit returns (docs/design.md, "Invariants", 4).
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Statements are short and the machine may be small, so compiling, parallel plans and I/O workers
  // cost more than they gain.
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  io_method: 'sync',
  // Handles for asynchronous I/O. `sync` uses one, and 64 for each process would need 5 MB.
  io_max_concurrency: '1',
  max_logical_replication_workers: '0',
  random_page_cost: '1.1',
  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_line_prefix: '',
  log_min_messages: 'warning',
  // Keeps statements and row values out of the log (docs/design.md, "Invariants", 9).
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // Avoids two lines every few minutes that need no action.
  log_checkpoints: 'off',
};

export function serverArguments(
  paths: Pick<RuntimePaths, 'postgresDir' | 'socketDir'>,
  extra: Readonly<Record<string, string>> = {},
): string[] {
  const settings = { ...SETTINGS, unix_socket_directories: quoted(paths.socketDir), ...extra };
  return ['-D', paths.postgresDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** The setting is a list, so the folder is quoted for its commas and spaces. */
function quoted(folder: string): string {
  return `"${folder.replaceAll('"', '""')}"`;
}

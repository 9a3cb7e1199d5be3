import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { embeddedDatabaseUrl, type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { endingWithUs } from '#supervisor/children/child-process.ts';
import { serverEnvironment, startEmbeddedPostgres } from '#supervisor/postgres/embedded-postgres.ts';
import { findPostgresInstall } from '#supervisor/postgres/initialise.ts';
import { choosePostgresUser, handOver } from '#supervisor/postgres/postgres-user.ts';
import { serverArguments } from '#supervisor/postgres/server-settings.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { sql } from '../harness/database.ts';
import { signalAll, withChildren } from '../launchers/process-tree.ts';

/**
 * A primary with one standby, synchronous by default, behind one address. A socket plays the role
 * of the DNS name or virtual address in production.
 */
export interface ReplicatedPostgres {
  /** Folder of the socket, which leads to the primary until `switchToStandby`. */
  readonly socketDir: string;
  /**
   * Commits no longer reach the standby. Only for an asynchronous standby, because otherwise
   * commits would wait.
   */
  stopReplication(): Promise<void>;
  /** kill -9 of the primary and all its descendants. */
  killPrimary(): Promise<void>;
  /** Directs the address to the standby, promoted or not, and cuts connections to the primary. */
  switchToStandby(): void;
  /** Resolves when the standby accepts writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

const SOCKET = '.s.PGSQL.5432';

export async function startReplicatedPostgres(replication: 'sync' | 'async' = 'sync'): Promise<ReplicatedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-ha-'));
  const primaryPaths = runtimePaths({ GATEWAY_DATA: join(folder, 'a') });
  const standbyPaths = runtimePaths({ GATEWAY_DATA: join(folder, 'b') });
  // Other users of this machine must reach the address, but nothing behind it.
  const address = join(folder, 'address');
  mkdirSync(address);

  await copyOfFreshServer(primaryPaths, standbyPaths);
  const primary = await startEmbeddedPostgres(primaryPaths, {
    settings: { synchronous_standby_names: replication === 'sync' ? 'standby' : '', wal_keep_size: '64MB' },
  });
  const standby = await startStandby(standbyPaths, primaryPaths);
  const primaryUrl = embeddedDatabaseUrl(primaryPaths, 'postgres');
  const standbyUrl = embeddedDatabaseUrl(standbyPaths, 'postgres');
  await untilReplicating(primaryUrl, replication);

  let leadsTo = primaryPaths.socketDir;
  const open = new Set<Socket>();
  const cutAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  const proxy = createServer((client) => {
    const server = connect(join(leadsTo, SOCKET));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  proxy.listen(join(address, SOCKET));
  await once(proxy, 'listening');
  return {
    socketDir: address,
    stopReplication: async () => {
      const senders = await sql<{ pid: number }>(primaryUrl, 'select pid from pg_stat_replication');
      for (const { pid } of senders) process.kill(pid, 'SIGSTOP');
    },
    killPrimary: async () => {
      signalAll(withChildren(primary.pid), 'SIGKILL');
      await primary.exited;
    },
    switchToStandby: () => {
      leadsTo = standbyPaths.socketDir;
      cutAll();
    },
    promote: async () => {
      await sql(standbyUrl, 'select pg_promote(true, 30)');
    },
    stop: async () => {
      proxy.close();
      cutAll();
      await standby.stop();
      await primary.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Copies the folder of a server that was shut down cleanly, because the binaries have no
 * pg_basebackup.
 */
async function copyOfFreshServer(from: RuntimePaths, to: RuntimePaths): Promise<void> {
  const fresh = await startEmbeddedPostgres(from);
  await fresh.stop();
  for (const folder of [to.dataDir, to.socketDir]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  execFileSync('cp', ['-a', from.postgresDir, to.postgresDir]);
  writeFileSync(join(to.postgresDir, 'standby.signal'), '');
}

async function startStandby(paths: RuntimePaths, primary: RuntimePaths): Promise<{ stop(): Promise<void> }> {
  const install = findPostgresInstall();
  const user = await choosePostgresUser({ ...paths, binary: install.postgres });
  handOver(user, [paths.socketDir, join(paths.postgresDir, 'standby.signal')]);
  const primaryConninfo = `host=${dirname(realpathSync(join(primary.socketDir, SOCKET)))} user=gateway application_name=standby`;
  const args = serverArguments(paths, { primary_conninfo: primaryConninfo });
  const command = endingWithUs('INT', install.postgres, args, user);
  const child = spawn(command.file, command.args, {
    cwd: paths.postgresDir,
    env: serverEnvironment(),
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  return {
    stop: async () => {
      child.kill('SIGQUIT');
      await exited;
    },
  };
}

async function untilReplicating(primaryUrl: string, replication: 'sync' | 'async'): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const rows = await sql(primaryUrl, `select 1 from pg_stat_replication where sync_state = '${replication}'`);
    if (rows.length === 1) return;
    if (performance.now() > deadline) throw new Error(`no standby after ${PATIENCE_MS} ms`);
    await sleep(50);
  }
}

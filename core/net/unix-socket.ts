import { chmod, unlink } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import type { ListenOptions, Server } from 'node:net';

/** Node's default (511) caused 503s at 1,500 connections at once. somaxconn also applies. */
const BACKLOG = 4096;

export interface TcpAddress {
  readonly host: string;
  readonly port: number;
  /** Other processes listen on the address too, and the kernel chooses one. */
  readonly isShared?: boolean;
}

/**
 * Listens on a Unix socket (mode 0600) or a TCP address. A socket file left behind by a process
 * that died is removed: the folder belongs to one deployment, whose supervisor starts each process
 * once. Later errors, such as of a connection that cannot be accepted, are the caller's to handle:
 * without a listener the first one ends the process.
 */
export async function listenOn(server: Server, where: string | TcpAddress): Promise<void> {
  if (typeof where !== 'string') {
    const { host, port, isShared = false } = where;
    await listening(server, { host, port, backlog: BACKLOG, reusePort: isShared });
    return;
  }
  await unlink(where).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await listening(server, { path: where, backlog: BACKLOG });
  await chmod(where, 0o600);
}

/** Lets an HTTP server listen. `onError` is called with later errors of the listening socket. */
export async function serveOn(
  server: HttpServer,
  where: string | TcpAddress,
  onError: (error: Error) => void,
): Promise<{ close(): Promise<void> }> {
  await listenOn(server, where);
  server.on('error', onError);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

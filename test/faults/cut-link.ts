import { connect, createServer, type Socket } from 'node:net';

/**
 * A path to a server that can be blocked as by a firewall: packets are dropped and neither side is
 * notified.
 */
export interface CutLink {
  cut(): void;
  /** New connections reach the server. Connections from before the cut are closed. */
  mend(): void;
  close(): Promise<void>;
}

type Address = { readonly port: number } | { readonly path: string };

/** Listens at one address, on loopback if it is a port, and forwards to another. */
export async function openCutLink(from: Address, to: Address): Promise<CutLink> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const watch = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    return socket;
  };
  const server = createServer((client) => {
    watch(client);
    if (isCut) return;
    const upstream = watch(connect(to));
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('close', () => {
        if (!isCut) other.destroy();
      });
  });
  await new Promise<void>((resolve) =>
    server.listen({ ...from, ...('port' in from ? { host: '127.0.0.1' } : {}) }, resolve),
  );
  return {
    cut() {
      isCut = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.destroy();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

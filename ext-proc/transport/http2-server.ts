import { createServer, type Socket } from 'node:net';
import { type AcceptStream, Http2Connection } from './http2/connection.ts';
import { listenOn, type TcpAddress } from './unix-socket.ts';

export interface Http2Server {
  /** No new connections, GOAWAY on those that are open; streams in flight go on. */
  stopAccepting(): void;
  close(): void;
}

/** HTTP/2 for clients that know that it is spoken here: without TLS, and without an upgrade from HTTP/1.1. */
export async function startHttp2Server(
  where: string | TcpAddress,
  accept: AcceptStream,
  onError: (error: Error) => void,
): Promise<Http2Server> {
  const connections = new Map<Socket, Http2Connection>();
  const server = createServer({ noDelay: true }, (socket) => {
    connections.set(socket, new Http2Connection(socket, accept, onError));
    socket.once('close', () => connections.delete(socket));
  });
  await listenOn(server, where);
  server.on('error', onError);
  const stopAccepting = () => {
    if (server.listening) server.close();
    for (const connection of connections.values()) connection.goAway();
  };
  return {
    stopAccepting,
    close() {
      stopAccepting();
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}

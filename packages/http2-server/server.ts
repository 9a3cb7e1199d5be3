import { createServer, type Socket } from 'node:net';
import { listenOn, type TcpAddress } from '../../core/net/unix-socket.ts';
import { type AcceptStream, Http2Connection } from './connection.ts';
import { withReusedReads } from './reused-reads.ts';

export interface Http2Server {
  /** No new connections, GOAWAY on those that are open; streams in flight go on. */
  stopAccepting(): void;
  close(): void;
}

/** One for all connections: what is read is taken out of it before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(256 * 1024);

/** HTTP/2 for clients that know that it is spoken here: without TLS, and without an upgrade from HTTP/1.1. */
export async function startHttp2Server(
  where: string | TcpAddress,
  accept: AcceptStream,
  onError: (error: Error) => void,
): Promise<Http2Server> {
  const connections = new Map<Socket, Http2Connection>();
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (accepted) => {
    const socket = withReusedReads(accepted, READ_BUFFER, (bytes) => connection.receive(bytes));
    const connection = new Http2Connection(socket, accept, onError);
    connections.set(socket, connection);
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

import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { type AcceptStream, Http2Connection } from './connection.ts';
import { withReusedReads } from './reused-reads.ts';

export interface Http2ServerOptions {
  /** Binds the server. Resolves when it listens. If it rejects, so does `startHttp2Server`. */
  readonly listen: (server: Server) => Promise<void>;
  /** Called for each request when its headers are complete. */
  readonly accept: AcceptStream;
  /** Called with errors of a connection, after which it is closed, and of the listening socket. */
  readonly onError: (error: Error) => void;
}

export interface Http2Server {
  /** Sends GOAWAY on all connections, even waiting ones, and accepts none. Streams go on. */
  stopAccepting(): void;
  /** Resolves when the clients have closed all connections, or after this time. */
  clientsGone(withinMs: number): Promise<void>;
  close(): void;
}

/** Shared by all connections, because the bytes of one read are handled before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(256 * 1024);

/** HTTP/2 without TLS, for clients with "prior knowledge": no upgrade from HTTP/1.1. */
export async function startHttp2Server({ listen, accept, onError }: Http2ServerOptions): Promise<Http2Server> {
  const connections = new Map<Socket, Http2Connection>();
  let onNone: (() => void) | undefined;
  let isLeaving = false;
  let accepted = 0;
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (connected) => {
    accepted++;
    const socket = withReusedReads(connected, READ_BUFFER, (bytes, length) => connection.receive(bytes, length));
    const connection = new Http2Connection(socket, accept, onError);
    connections.set(socket, connection);
    if (isLeaving) connection.goAway();
    socket.once('close', () => {
      connections.delete(socket);
      if (connections.size === 0) onNone?.();
    });
  });
  await listen(server);
  server.on('error', onError);
  const stopListening = () => {
    if (server.listening) server.close();
  };
  const stopAccepting = () => {
    if (isLeaving) return;
    isLeaving = true;
    for (const connection of connections.values()) connection.goAway();
    const path = server.address();
    // The queue of the socket no longer grows when its path is removed.
    if (typeof path === 'string') rmSync(path, { force: true });
    stopWhenAllAccepted();
  };
  /**
   * Closing the socket resets the connections that wait in its queue, with requests that their
   * client cannot distinguish from begun ones. Node accepts one connection in each turn of the
   * event loop. The first turn without one may have polled before the path was removed.
   */
  const stopWhenAllAccepted = (turnsWithout = 0, known = accepted): void => {
    if (turnsWithout === 2) stopListening();
    else setImmediate(() => stopWhenAllAccepted(accepted === known ? turnsWithout + 1 : 0));
  };
  return {
    stopAccepting,
    async clientsGone(withinMs) {
      if (connections.size === 0) return;
      const none = Promise.withResolvers<void>();
      onNone = none.resolve;
      const timer = setTimeout(none.resolve, withinMs);
      await none.promise;
      clearTimeout(timer);
    },
    close() {
      stopListening();
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}

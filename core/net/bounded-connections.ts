import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * At most `limit` connections at once. One more closes the one that has been without a request for
 * longest, or, where all have one, that whose request began first: so no client keeps others out by
 * holding connections open, from any number of addresses. Node's `maxConnections` would refuse the
 * newest connection.
 */
export function boundConnections(server: Server, limit: number): void {
  // Sets keep the order in which sockets were put in: those at the front have been there for
  // longest.
  const idle = new Set<Socket>();
  const serving = new Set<Socket>();
  server.on('connection', (socket) => {
    const [longest] = idle.size > 0 ? idle : serving;
    if (idle.size + serving.size >= limit) longest?.destroy();
    idle.add(socket);
    socket.once('close', () => {
      idle.delete(socket);
      serving.delete(socket);
    });
  });
  server.on('request', ({ socket }, response) => {
    idle.delete(socket);
    // Behind those that began before, if an earlier request of the same client is still being
    // answered.
    serving.delete(socket);
    serving.add(socket);
    response.once('close', () => {
      if (!serving.delete(socket) || socket.destroyed) return;
      idle.add(socket);
    });
  });
}

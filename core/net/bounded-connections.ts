import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Allows `limit` connections at once. A further one closes the connection that has been idle for
 * longest, or, if all have a request, the connection whose latest request is oldest. So no client
 * can exclude others by holding connections open, from any number of addresses. Node's
 * `maxConnections` would refuse the newest connection.
 */
export function boundConnections(server: Server, limit: number): void {
  // Sets keep the order of insertion: the oldest sockets come first.
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
    // Moves to the end, even if an earlier request of this connection is still in progress.
    serving.delete(socket);
    serving.add(socket);
    response.once('close', () => {
      if (!serving.delete(socket) || socket.destroyed) return;
      idle.add(socket);
    });
  });
}

import { Socket } from 'node:net';
import { createDemoServer } from './server.ts';

/**
 * Serves connections that arrive over the IPC channel. When it had none for `idleMs`, it says how
 * many it got, and the parent ends it unless another one is on its way.
 */
export function servePassedConnections(idleMs: number): void {
  const server = createDemoServer();
  let taken = 0;
  let open = 0;
  const idle = setTimeout(() => {
    if (open === 0) process.send?.({ idleAfter: taken });
  }, idleMs);
  process.on('message', (_message, socket) => {
    taken += 1;
    idle.refresh();
    // Node passes no handle of a connection that was closed on its way.
    if (!(socket instanceof Socket)) return;
    open += 1;
    socket.once('close', () => {
      open -= 1;
      idle.refresh();
    });
    server.emit('connection', socket);
  });
}

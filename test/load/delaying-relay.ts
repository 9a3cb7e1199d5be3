/**
 * Simulates a distant server: bytes are forwarded in order after a delay, in both directions. A
 * process of its own, so that its CPU time is not counted with what it delays. `node
 * delaying-relay.ts HOST PORT SOCKET MS` listens on TCP and forwards to a Unix socket.
 */
import { connect, createServer, type Socket } from 'node:net';

interface Delayed {
  readonly to: Socket;
  readonly bytes: Buffer;
  readonly dueMs: number;
}

const [host = '127.0.0.1', port, path = '', delayMs] = process.argv.slice(2);
const delayed: Delayed[] = [];
const nobody = new Int32Array(new SharedArrayBuffer(4));
let isWaiting = false;

/**
 * Node's timers fire up to a millisecond late, so the timer is set short, and `Atomics.wait` blocks
 * for the rest.
 */
function sendDue(): void {
  isWaiting = false;
  for (let first = delayed[0]; first !== undefined; first = delayed[0]) {
    const leftMs = first.dueMs - performance.now();
    if (leftMs > 1.5) {
      isWaiting = true;
      setTimeout(sendDue, leftMs - 1);
      return;
    }
    if (leftMs > 0) Atomics.wait(nobody, 0, 0, leftMs);
    delayed.shift();
    if (!first.to.destroyed) first.to.write(first.bytes);
  }
}

const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect(path);
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
    from.on('data', (bytes) => {
      delayed.push({ to, bytes, dueMs: performance.now() + Number(delayMs) });
      if (!isWaiting) sendDue();
    });
  }
});
server.listen(Number(port), host, () => process.send?.({ type: 'listening' }));
process.on('disconnect', () => process.exit(0));

/**
 * A small local stand-in for a model provider, so that a fresh clone works at once.
 * `node demo/provider.ts --host 127.0.0.1 --port 9390`
 *
 * With `--idle-ms` it does not listen: its parent process accepts connections and passes them on.
 */
import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { createDemoServer, startDemoProvider } from './server.ts';

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '9390' },
    'idle-ms': { type: 'string' },
  },
});
const { host, 'idle-ms': idleMs } = values;
const port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  process.stderr.write(`demo provider: --port takes a number from 0 to 65535, not ${values.port}\n`);
  process.exit(2);
}

// The demo ends with its parent, even a killed one: the IPC channel or standard input closes.
const leave = (): never => process.exit(0);
process.on('SIGTERM', leave);
process.on('SIGINT', leave);
if (process.connected) process.on('disconnect', leave);
else if (standardInputIsPipe()) process.stdin.on('end', leave).on('error', leave).resume();

try {
  if (idleMs === undefined) {
    const server = await startDemoProvider({ host, port });
    process.stdout.write(`listening on ${host}:${server.port}\n`);
  } else {
    servePassedConnections(Number(idleMs));
    reportListening();
  }
} catch (error) {
  process.stderr.write(`demo provider: cannot listen on ${host}:${port}: ${(error as Error).message}\n`);
  process.exit(1);
}

/** Repeated, because the supervisor kills a process that sends nothing. */
function reportListening(): void {
  process.send?.({ type: 'listening' }, (error) => {
    if (error === null) setTimeout(reportListening, 1_000);
  });
}

/** Only a pipe closes with the parent. A terminal or /dev/null does not. */
function standardInputIsPipe(): boolean {
  const kind = fstatSync(0);
  return kind.isFIFO() || kind.isSocket();
}

/**
 * Serves connections that arrive over the IPC channel. After `idleMs` without any it reports how
 * many it has received, and the parent ends it unless another one is on its way.
 */
function servePassedConnections(idleMs: number): void {
  const server = createDemoServer();
  let taken = 0;
  let open = 0;
  const idle = setTimeout(() => {
    if (open === 0) process.send?.({ idleAfter: taken });
  }, idleMs);
  process.on('message', (_message, socket) => {
    taken += 1;
    idle.refresh();
    // Node passes no handle if the connection was closed on its way.
    if (!(socket instanceof Socket)) return;
    open += 1;
    socket.once('close', () => {
      open -= 1;
      idle.refresh();
    });
    server.emit('connection', socket);
  });
}

/**
 * A small local stand-in for a model provider, so that a fresh clone answers at once.
 * `node demo/provider.ts --host 127.0.0.1 --port 9390`
 *
 * With `--idle-ms` it listens nowhere: its parent process accepts connections and passes them.
 */
import { fstatSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { servePassedConnections } from './passed-connections.ts';
import { startDemoProvider } from './server.ts';

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
    process.send?.({ type: 'listening' });
  }
} catch (error) {
  process.stderr.write(`demo provider: cannot listen on ${host}:${port}: ${(error as Error).message}\n`);
  process.exit(1);
}

/** Only a pipe closes with the parent; a terminal or /dev/null does not. */
function standardInputIsPipe(): boolean {
  const kind = fstatSync(0);
  return kind.isFIFO() || kind.isSocket();
}

import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range of outgoing connections, which take any port there at any moment. */
const FIRST_PORT = 10_000;
const PORTS_PER_PROCESS = 100;
const PROCESSES = 200;

/** Test files run in processes of their own, side by side: each looks in a range of its own. */
const ownFirstPort = FIRST_PORT + (process.pid % PROCESSES) * PORTS_PER_PROCESS;
let asked = 0;

/** Ports that nothing listens on. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === PORTS_PER_PROCESS) throw new Error(`no ${count} free ports from ${ownFirstPort} on`);
    const port = ownFirstPort + (asked++ % PORTS_PER_PROCESS);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  return true;
}

import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ephemeral range, in which an outgoing connection may take any port at any moment. */
const FIRST_PORT = 10_000;
const PORTS_IN_RANGE = 100;
const RANGES = 200;

/**
 * Each process takes ports from a range of its own, because test files run in parallel processes.
 */
let ownRange: Promise<number> | undefined;
let asked = 0;

/** Returns ports on which nothing listens. */
export async function freePorts(count: number): Promise<number[]> {
  ownRange ??= claimRange();
  const guardPort = await ownRange;
  const ports: number[] = [];
  for (let tries = 1; ports.length < count; tries++) {
    if (tries === PORTS_IN_RANGE) throw new Error(`no ${count} free ports from ${guardPort} on`);
    const port = guardPort + 1 + (asked++ % (PORTS_IN_RANGE - 1));
    const server = await listenOn(port);
    if (server === undefined) continue;
    await new Promise((resolve) => server.close(resolve));
    ports.push(port);
  }
  return ports;
}

/**
 * Returns the first port of a range. This process listens on it until it ends, so no other process
 * takes the range. Process ids alone do not separate workers, because two ids can be congruent
 * modulo the number of ranges.
 */
async function claimRange(): Promise<number> {
  for (let tried = 0; tried < RANGES; tried++) {
    const port = FIRST_PORT + ((process.pid + tried) % RANGES) * PORTS_IN_RANGE;
    const guard = await listenOn(port);
    if (guard === undefined) continue;
    guard.unref();
    return port;
  }
  throw new Error(`all ${RANGES} ranges of ports are taken`);
}

async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

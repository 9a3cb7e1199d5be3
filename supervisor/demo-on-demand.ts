import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { exitText, type Running } from './children/child-process.ts';
import { FRUGAL, type NodeChild, startNodeChild } from './children/node-child.ts';
import { isStartFailure, type StartFailure, startFailure } from './children/supervised-process.ts';
import { compileCache, type Settings } from './settings.ts';

const NAME = 'The demo provider';
const SCRIPT = fileURLToPath(new URL('../demo/provider.ts', import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 2_000;
/** Without a connection for this long, the process ends. */
const IDLE_MS = 30_000;

/** Runs while it has connections. At rest it needs no memory. */
export interface DemoProvider {
  readonly port: number;
  current(): Running | undefined;
  /** Closes the port and ends the process. */
  stop(): Promise<void>;
}

/** A process of the demo provider, and how many connections it was passed. */
interface Demo {
  readonly started: Promise<NodeChild | StartFailure>;
  running?: NodeChild;
  passed: number;
}

/**
 * Accepts the connections of the demo provider and passes them to its process, which starts with
 * the first one and ends when it had none for a while. A process of its own: whatever a request
 * does to it, the supervisor is not affected.
 */
export async function listenForDemo(
  settings: Pick<Settings, 'env' | 'paths'>,
  port: number,
  report: (line: string) => void,
  idleMs = IDLE_MS,
): Promise<DemoProvider | StartFailure> {
  const stopping = new AbortController();
  let demo: Demo | undefined;

  function start(): Demo {
    const onMessage = (message: object): void => {
      // A connection that is on its way to the process keeps it.
      if ('idleAfter' in message && message.idleAfter === one.passed) void end(one);
    };
    const child = {
      ...{ name: NAME, script: SCRIPT, args: ['--idle-ms', String(idleMs)], onMessage, quiet: true },
      nodeOptions: FRUGAL.nodeOptions,
      env: { ...FRUGAL.env, PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache(settings) },
      startTimeoutMs: START_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
    };
    const one: Demo = { started: startNodeChild(child, stopping.signal), passed: 0 };
    void follow(one);
    return one;
  }

  /** The next connection starts another process. */
  function forget(one: Demo): boolean {
    if (demo !== one) return false;
    demo = undefined;
    return true;
  }

  async function follow(one: Demo): Promise<void> {
    const running = await one.started;
    if (isStartFailure(running)) {
      if (forget(one) && !stopping.signal.aborted) report(running.message);
      return;
    }
    one.running = running;
    const exit = await running.exited;
    if (forget(one)) report(`${NAME} ended with ${exitText(exit)}; its next request starts it again`);
  }

  async function end(one: Demo): Promise<void> {
    forget(one);
    const running = await one.started;
    if (!isStartFailure(running)) await running.stop();
  }

  async function pass(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    demo ??= start();
    const one = demo;
    const running = await one.started;
    if (isStartFailure(running)) {
      socket.destroy();
      return;
    }
    one.passed += 1;
    running.pass(socket);
  }

  const server = createServer({ pauseOnConnect: true }, (socket) => void pass(socket));
  // Loopback: the demo answers every client that can reach it.
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    return startFailure(`${NAME} cannot listen on port ${port}: ${(error as Error).message}`);
  }
  return {
    port: (server.address() as AddressInfo).port,
    current: () => demo?.running,
    stop: async () => {
      stopping.abort();
      server.close();
      if (demo !== undefined) await end(demo);
    },
  };
}

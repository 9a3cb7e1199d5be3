import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { exitText, type Running } from './children/child-process.ts';
import { FRUGAL, type NodeChild, startNodeChild } from './children/node-child.ts';
import { isStartFailure, type StartFailure, startFailure } from './children/supervised-process.ts';
import { compileCache, type Settings } from './settings.ts';

const NAME = 'The demo provider';
const SCRIPT = fileURLToPath(new URL('../demo/provider.ts', import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 2_000;
/** The process ends after this time without a connection. */
const IDLE_MS = 30_000;

/** A process of the demo provider, with the number of connections that were passed to it. */
interface Demo {
  readonly started: Promise<NodeChild | StartFailure>;
  running?: NodeChild;
  passed: number;
}

/** Resolves with the demo provider, listening on the port. Port 0: any free port. */
export async function listenForDemo(
  settings: DemoSettings,
  port: number,
  report: (line: string) => void,
  idleMs = IDLE_MS,
): Promise<DemoProvider | StartFailure> {
  const server = createServer({ pauseOnConnect: true });
  const provider = new DemoProvider(server, settings, report, idleMs);
  // Only on loopback, because the demo responds to every client that can reach it.
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    return startFailure(`${NAME} cannot listen on port ${port}: ${(error as Error).message}`);
  }
  return provider;
}

type DemoSettings = Pick<Settings, 'env' | 'paths'>;

/**
 * Accepts connections for the demo provider and passes them to its process. The process starts with
 * the first connection and ends after some time without any, so an idle demo needs no memory. It is
 * a separate process, so that no request can affect the supervisor.
 */
export class DemoProvider {
  readonly #server: Server;
  readonly #settings: DemoSettings;
  readonly #report: (line: string) => void;
  readonly #idleMs: number;
  readonly #stopping = new AbortController();
  #demo: Demo | undefined;

  constructor(server: Server, settings: DemoSettings, report: (line: string) => void, idleMs: number) {
    this.#server = server;
    this.#settings = settings;
    this.#report = report;
    this.#idleMs = idleMs;
    server.on('connection', (socket) => void this.#pass(socket));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  current(): Running | undefined {
    return this.#demo?.running;
  }

  /** Closes the port and ends the process. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#server.close();
    if (this.#demo !== undefined) await this.#end(this.#demo);
  }

  async #pass(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    this.#demo ??= this.#start();
    const demo = this.#demo;
    const running = await demo.started;
    if (isStartFailure(running)) {
      socket.destroy();
      return;
    }
    demo.passed += 1;
    running.pass(socket);
  }

  #start(): Demo {
    const onMessage = (message: object): void => {
      // Keeps the process if another connection is on its way to it.
      if ('idleAfter' in message && message.idleAfter === demo.passed) void this.#end(demo);
    };
    const child = {
      ...{ name: NAME, script: SCRIPT, args: ['--idle-ms', String(this.#idleMs)], onMessage, quiet: true },
      nodeOptions: FRUGAL.nodeOptions,
      env: { ...FRUGAL.env, PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache(this.#settings) },
      startTimeoutMs: START_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
    };
    const demo: Demo = { started: startNodeChild(child, this.#stopping.signal), passed: 0 };
    void this.#follow(demo);
    return demo;
  }

  async #follow(demo: Demo): Promise<void> {
    const running = await demo.started;
    if (isStartFailure(running)) {
      if (this.#forget(demo) && !this.#stopping.signal.aborted) this.#report(running.message);
      return;
    }
    demo.running = running;
    const exit = await running.exited;
    if (this.#forget(demo)) this.#report(`${NAME} ended with ${exitText(exit)}; its next request starts it again`);
  }

  async #end(demo: Demo): Promise<void> {
    this.#forget(demo);
    const running = await demo.started;
    if (!isStartFailure(running)) await running.stop();
  }

  /** The next connection then starts another process. */
  #forget(demo: Demo): boolean {
    if (this.#demo !== demo) return false;
    this.#demo = undefined;
    return true;
  }
}

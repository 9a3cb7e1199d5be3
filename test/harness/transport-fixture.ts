import { mkdir, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { streamClusterName } from '#ext-proc/envoy-config/bootstrap.ts';
import type { BodyBounds, ExchangeHandler, WholeResponse } from '#ext-proc/transport/exchange.ts';
import { startTransport, type Transport, type TransportFault } from '#ext-proc/transport/start.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { type EnvoyProcess, startEnvoy, temporaryPaths } from './envoy-process.ts';

/** The transport, running in this process behind a real Envoy. Each test sets its own handler. */
export interface TransportFixture {
  readonly origin: string;
  readonly port: number;
  readonly paths: RuntimePaths;
  readonly envoy: EnvoyProcess;
  readonly transport: Transport;
  readonly faults: TransportFault[];
  handler: ExchangeHandler;
  deadlineMs: number;
  logs(): string;
  close(): Promise<void>;
}

export interface FixtureOptions {
  readonly config?: Partial<GatewayConfig>;
  readonly bodyBudgetBytes?: number;
  readonly maxInFlight?: number;
}

export async function startFixture(options: FixtureOptions = {}): Promise<TransportFixture> {
  const paths = await temporaryPaths();
  await mkdir(paths.socketDir, { recursive: true });
  const state: { handler: ExchangeHandler; deadlineMs: number } = { handler: echo, deadlineMs: 60_000 };
  const faults: TransportFault[] = [];
  const transport = await startTransport({
    extProcSocket: paths.extProcSocket(0),
    streamSocket: paths.streamSocket(0),
    streamClusterName: streamClusterName(0),
    handler: (exchange) => state.handler(exchange),
    bodyBudgetBytes: options.bodyBudgetBytes ?? 256 * MIB,
    exchangeDeadlineMs: () => state.deadlineMs,
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
    onFault: (fault) => faults.push(fault),
  });
  const envoy = await startEnvoy({ paths, threads: 2, ...(options.config ? { config: options.config } : {}) });
  return Object.assign(state, {
    origin: `http://127.0.0.1:${envoy.port}`,
    port: envoy.port,
    paths,
    envoy,
    transport,
    faults,
    logs: () => `${envoy.log()}\n${faults.map((fault) => `${fault.kind} ${String(fault.error)}`).join('\n')}`,
    async close() {
      await envoy.stop();
      await transport.close();
      await rm(paths.dataDir, { recursive: true, force: true });
    },
  });
}

export const MIB = 1024 * 1024;

export const BOUNDS: BodyBounds = {
  organizationId: 'org_a',
  limitBytes: 20 * MIB,
  mostUploads: 1000,
  stallMs: 20_000,
  totalMs: 60_000,
};

export const echo: ExchangeHandler = async (exchange) => {
  const body = await exchange.readBody(BOUNDS);
  await exchange.respond(json(200, body.kind === 'complete' ? { bytes: body.bytes.length } : { kind: body.kind }));
};

export function json(status: number, value: unknown): WholeResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}

/** Polls until the condition holds. */
export async function eventually(condition: () => boolean, what: string, timeoutMs = PATIENCE_MS): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`never happened: ${what}`);
    await sleep(5);
  }
}

/** Sends raw bytes, and returns what is received until the connection closes or `until` matches. */
export function exchangeRaw(port: number, bytes: string | Buffer, until = /\}\}$/): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error(`no end within ${PATIENCE_MS} ms: ${text}`)));
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
      if (until.test(text)) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
    socket.write(bytes);
  });
}

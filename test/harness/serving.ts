import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import type { LaunchedProcess } from '../launchers/launched-process.ts';
import type { Deployment } from './deployment.ts';
import { areCharges } from './shipped.ts';

const POLL_MS = 10;

/**
 * Resolves when Envoy accepts connections and the gateway is ready. Rejects if a process ends
 * first.
 */
export async function untilServing(
  deployment: Pick<Deployment, 'apiPort' | 'metricsOrigin'>,
  processes: readonly LaunchedProcess[],
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  // The gateway caches its readiness for half a second, so it is not queried before Envoy accepts.
  await untilAccepting(deployment, processes);
  await poll(deadline, processes, () => isReady(deployment.metricsOrigin));
}

/** Resolves when Envoy accepts connections. Rejects if a process ends first. */
export function untilAccepting({ apiPort }: Pick<Deployment, 'apiPort'>, processes: readonly LaunchedProcess[]) {
  return poll(performance.now() + PATIENCE_MS, processes, () => accepts(apiPort));
}

/** Waits until all charges are in the ledger and the gateway is ready. */
export async function untilSettled(
  { paths, metricsOrigin }: Pick<Deployment, 'paths' | 'metricsOrigin'>,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const reason = (await areCharges(paths)) ? 'charges wait' : await isReady(metricsOrigin);
    if (reason === undefined) return;
    if (performance.now() > deadline) throw new Error(`not quiet after ${timeoutMs} ms: ${reason}`);
    await sleep(10 * POLL_MS);
  }
}

async function poll(
  deadline: number,
  processes: readonly LaunchedProcess[],
  done: () => Promise<string | undefined>,
): Promise<void> {
  for (;;) {
    const dead = processes.find((process) => process.hasEnded());
    if (dead) throw new Error(`${dead.command} ended during the start`);
    const reason = await done();
    if (reason === undefined) return;
    if (performance.now() > deadline) throw new Error(`not serving after ${PATIENCE_MS} ms: ${reason}`);
    await sleep(POLL_MS);
  }
}

async function accepts(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return undefined;
  } catch {
    return `port ${port} does not accept connections`;
  } finally {
    socket.destroy();
  }
}

async function isReady(metricsOrigin: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${metricsOrigin}/ready`);
    const text = await response.text();
    return response.status === 200 ? undefined : text;
  } catch (error) {
    return (error as Error).message;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../harness/process-cpu.ts';
import type { Generator } from './children.ts';
import type { LoadJob, LoadResult } from './load-job.ts';
import { openSilentClients } from './silent-clients.ts';

/** The gateway under test, as the load checks need it. */
export interface LoadTarget {
  readonly origin: string;
  readonly key: string;
  readonly envoyPid: number;
  readonly gatewayPid: number;
}

export function loadJob(
  target: Pick<LoadTarget, 'origin' | 'key'>,
  model: string,
  size: Pick<LoadJob, 'concurrency' | 'requests'>,
): LoadJob {
  const stream = model.endsWith('stream');
  return {
    origin: target.origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${target.key}` },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello '.repeat(150) }] }),
    mustContain: stream ? 'data: [DONE]' : '"finish_reason":"stop"',
    ...size,
  };
}

export interface SilentClientsResult {
  /** Growth while the silent clients were connected. */
  readonly envoyGrowthBytes: number;
  readonly gatewayGrowthBytes: number;
  readonly p50BeforeMs: number;
  readonly p50DuringMs: number;
  readonly faults: LoadResult['faults'];
}

const OTHERS = { concurrency: 4, requests: 200 };

/**
 * Opens clients that never read their responses of 50 MB, and measures other requests meanwhile.
 */
export async function withSilentClients(
  target: LoadTarget,
  generator: Generator,
  model: 'big-stream' | 'big-json',
  count: number,
  watchMs: number,
): Promise<SilentClientsResult> {
  const before = await generator.run(loadJob(target, 'json', OTHERS));
  const envoyBytes = residentBytes(target.envoyPid);
  const gatewayBytes = residentBytes(target.gatewayPid);
  const { body } = loadJob(target, model, OTHERS);
  const clients = await openSilentClients(target.origin, target.key, body, count);
  try {
    await sleep(watchMs);
    const during = await generator.run(loadJob(target, 'json', OTHERS));
    return {
      envoyGrowthBytes: residentBytes(target.envoyPid) - envoyBytes,
      gatewayGrowthBytes: residentBytes(target.gatewayPid) - gatewayBytes,
      p50BeforeMs: before.latencyMs.p50,
      p50DuringMs: during.latencyMs.p50,
      faults: during.faults,
    };
  } finally {
    clients.close();
  }
}

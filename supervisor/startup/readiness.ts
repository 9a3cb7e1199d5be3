import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '#core/config/network-names.ts';

const POLL_MS = 25;
const ANSWER_TIMEOUT_MS = 2_000;

/** Waits until a request through Envoy would be served. Returns the last reply if time is up. */
export async function waitUntilServing(metrics: Address, timeoutMs: number): Promise<string | undefined> {
  const url = `http://${reachable(metrics)}/ready`;
  const deadline = performance.now() + timeoutMs;
  let last = 'no answer';
  while (performance.now() < deadline) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
      const text = (await response.text()).slice(0, 500).trim();
      if (response.status === 200) return undefined;
      last = `${response.status} ${text}`;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await sleep(POLL_MS);
  }
  return `${url} said: ${last}`;
}

/** `host:port` for a connection from this machine to a listener on `address`. */
export function reachable({ host, port }: Address): string {
  if (host === '0.0.0.0' || host === '::') return `localhost:${port}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

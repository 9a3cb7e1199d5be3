import { setTimeout as sleep } from 'node:timers/promises';
import { askAdmin, readIngressLoad } from '#ext-proc/envoy-config/envoy-admin.ts';

/** Time for clients that read their responses slowly. */
const HANDING_OUT_MS = 5_000;
const POLL_MS = 20;

/** Starts a drain: Envoy serves on, but tells clients to send no more on their connections. */
export async function beginEnvoyDrain(socketPath: string): Promise<void> {
  await askAdmin(socketPath, '/drain_listeners?graceful&skip_exit', 'POST');
}

/**
 * Closes Envoy's listeners and waits until clients have their responses, or the time is up.
 * Requests that are still in flight when Envoy ends are reset. Envoy 1.39 and 1.40 end with a
 * segmentation fault if an ext_proc request is waiting for a retry (test/faults/envoy-end.test.ts).
 */
export async function letEnvoyHandOut(socketPath: string): Promise<void> {
  await askAdmin(socketPath, '/drain_listeners?inboundonly', 'POST');
  const deadlineMs = performance.now() + HANDING_OUT_MS;
  while (performance.now() < deadlineMs) {
    const load = await readIngressLoad(socketPath);
    if (load === undefined || (load.requests === 0 && load.bufferedBytes === 0)) return;
    await sleep(POLL_MS);
  }
}

import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readIngressLoad } from '#ext-proc/envoy-config/envoy-admin.ts';

const ANSWER_TIMEOUT_MS = 2_000;
/** Time for clients that are slow to read their responses. */
const HANDING_OUT_MS = 5_000;
const POLL_MS = 20;

/** Status of Envoy's admin response; `undefined` if there was none in time. */
export function askEnvoyAdmin(socketPath: string, method: 'GET' | 'POST', path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asking = request(
      { socketPath, method, path, agent: false, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    asking.on('error', () => resolve(undefined));
    asking.end();
  });
}

/**
 * Starts a drain: Envoy continues to serve, and asks its clients to send no further requests on
 * their connections.
 */
export async function beginEnvoyDrain(socketPath: string): Promise<void> {
  await askEnvoyAdmin(socketPath, 'POST', '/drain_listeners?graceful&skip_exit');
}

/**
 * Closes Envoy's listeners and waits until its clients have their responses, or the time is up.
 * Requests in flight when Envoy ends are reset. Envoy 1.39 and 1.40 end with a segmentation fault
 * while an ext_proc request waits to be tried again (test/faults/envoy-end.test.ts).
 */
export async function letEnvoyHandOut(socketPath: string): Promise<void> {
  await askEnvoyAdmin(socketPath, 'POST', '/drain_listeners?inboundonly');
  const deadlineMs = performance.now() + HANDING_OUT_MS;
  while (performance.now() < deadlineMs) {
    const load = await readIngressLoad(socketPath);
    if (load === undefined || (load.requests === 0 && load.bufferedBytes === 0)) return;
    await sleep(POLL_MS);
  }
}

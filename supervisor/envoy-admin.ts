import { request } from 'node:http';

const ANSWER_TIMEOUT_MS = 2_000;

/** The status of Envoy's admin answer; `undefined` when there was none in time. */
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

/** Envoy goes on serving, but tells its clients to open no further requests on their connections. */
export async function beginEnvoyDrain(socketPath: string): Promise<void> {
  await askEnvoyAdmin(socketPath, 'POST', '/drain_listeners?graceful&skip_exit');
}

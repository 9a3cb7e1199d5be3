import { expect, test } from 'vitest';
import { startEnvoy } from '../harness/envoy-process.ts';
import { httpClient } from '../harness/http-client.ts';

/**
 * Envoy 1.39.3 and 1.40.0 crash with a segmentation fault (address 0x0) if they are stopped while a
 * request waits for a retry of ext_proc: the destructor of the gRPC client resets a stream whose
 * router is gone. When the control below stops crashing, Envoy is fixed.
 */
const CLIENTS = 32;
const ASKED = 200;
const TRIES = 12;

/**
 * Stops an Envoy under requests while its gateway processes are down. Resolves with true if it
 * crashed.
 */
async function endUnderRequests(workers: number): Promise<boolean> {
  const envoy = await startEnvoy({ config: { workers }, threads: 2 });
  const client = httpClient(`http://127.0.0.1:${envoy.port}`);
  let answered = 0;
  const outcomes = new Set<number>();
  const enough = Promise.withResolvers<void>();
  const ask = async (): Promise<void> => {
    for (;;) {
      const received = await client.send({ path: '/x', body: '{}' }).catch(() => undefined);
      if (received === undefined) return;
      outcomes.add(received.status);
      answered += 1;
      if (answered === ASKED) enough.resolve();
    }
  };
  const asking = Array.from({ length: CLIENTS }, ask);
  await enough.promise;
  await envoy.stop();
  await Promise.all(asking);
  client.close();
  expect(outcomes).toEqual(new Set([503]));
  return envoy.log().includes('Segmentation fault');
}

test('a single gateway process that is down is not retried, so nothing waits when Envoy ends', async () => {
  for (let round = 0; round < 4; round++) expect(await endUnderRequests(1)).toBe(false);
});

test('control: an Envoy that retries at another process crashes if it is stopped without draining', async () => {
  let crashed = false;
  for (let tries = 0; tries < TRIES && !crashed; tries++) crashed = await endUnderRequests(2);
  expect(crashed).toBe(true);
});

import { startRelay } from '../harness/relay.ts';

/**
 * Distributes connections over pods as a Kubernetes Service does: only to those that were ready at
 * the last probe.
 */
export interface Balancer {
  readonly origin: string;
  /** Readiness of the pods, in their order. */
  readiness(): readonly boolean[];
  close(): Promise<void>;
}

export interface BalancedPod {
  readonly apiPort: number;
  readonly metricsOrigin: string;
}

const ASK_EVERY_MS = 250;
const ANSWER_MS = 2_000;

export async function startBalancer(pods: readonly BalancedPod[]): Promise<Balancer> {
  const ready = pods.map(() => false);
  const ask = async (): Promise<void> => {
    await Promise.all(
      pods.map(async ({ metricsOrigin }, index) => {
        ready[index] = await isReady(metricsOrigin);
      }),
    );
  };
  await ask();
  const timer = setInterval(() => void ask(), ASK_EVERY_MS);
  let turn = 0;
  const relay = await startRelay(() => {
    const candidates = pods.filter((_, index) => ready[index]);
    const pod = candidates[turn++ % candidates.length];
    return pod && { port: pod.apiPort };
  });
  return {
    origin: `http://127.0.0.1:${relay.port}`,
    readiness: () => [...ready],
    close() {
      clearInterval(timer);
      return relay.close();
    },
  };
}

async function isReady(metricsOrigin: string): Promise<boolean> {
  return fetch(`${metricsOrigin}/ready`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status === 200;
    },
    () => false,
  );
}

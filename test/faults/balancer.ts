import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

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
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    const candidates = pods.filter((_, index) => ready[index]);
    const pod = candidates[turn++ % candidates.length];
    if (pod === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(pod.apiPort, '127.0.0.1');
    join(client, upstream, open);
    join(upstream, client, open);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    readiness: () => [...ready],
    close: async () => {
      clearInterval(timer);
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Forwards the bytes and the end of one socket to the other. */
function join(from: Socket, to: Socket, open: Set<Socket>): void {
  open.add(from);
  from.on('error', () => to.destroy());
  from.on('close', () => open.delete(from));
  from.pipe(to);
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

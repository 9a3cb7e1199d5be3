import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../harness/deployment.ts';
import { outcome } from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { rawAnswer } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { buildProgram, type Cluster, MACHINE, missingCluster, raiseCluster } from './cluster.ts';

/**
 * Tests with the real endpoint picker of the Gateway API Inference Extension. It finds servers as
 * pods of a cluster, reads their metrics in vLLM's format, and picks the one with fewer waiting
 * requests. The servers here run on this machine: their pod has its address, and is never
 * scheduled. The picker listens on every address, so it runs in the node's network.
 */
const PICKER = 'sigs.k8s.io/gateway-api-inference-extension/cmd/epp';
const NODE = '10.202.0.2';
const PORT = 9002;
const RAISE_MS = 1_200_000;
const FOUND_MS = 120_000;

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'model', namespace: 'default', labels: { app: 'model' } },
  spec: { schedulingGates: [{ name: 'test/on-the-machine' }], containers: [{ name: 'model', image: 'none:1' }] },
};
const STATUS = {
  phase: 'Running',
  podIP: MACHINE,
  podIPs: [{ ip: MACHINE }],
  conditions: [{ type: 'Ready', status: 'True' }],
};

const servers: FakeProvider[] = [];
let cluster: Cluster;
let picker: number;

/** Sets the metrics of a server with this many waiting requests. */
function say(server: FakeProvider | undefined, waiting: number): void {
  const gauges = { num_requests_waiting: waiting, num_requests_running: 1, kv_cache_usage_perc: 0.5 };
  const text = Object.entries(gauges).map(
    ([name, value]) => `# TYPE vllm:${name} gauge\nvllm:${name}{model_name="m"} ${value}\n`,
  );
  server?.script('', rawAnswer(200, { 'content-type': 'text/plain; version=0.0.4' }, text.join('')));
}

requirement(missingCluster(), () => {
  beforeAll(async () => {
    cluster = await raiseCluster([]);
    await buildProgram(cluster, PICKER);
    await cluster.run(`cd '${REPOSITORY}/test/deploy/programs'
      crds=$(go list -mod=readonly -m -f '{{.Dir}}' sigs.k8s.io/gateway-api-inference-extension)/config/crd/bases
      kubectl apply -f $crds/inference.networking.k8s.io_inferencepools.yaml
      kubectl wait --for=condition=Established crd/inferencepools.inference.networking.k8s.io --timeout=1m`);
    await cluster.run('until kubectl get serviceaccount default; do sleep 0.5; done');
    await cluster.apply(POD);
    await cluster.run(
      `kubectl patch pod model --subresource=status --type=merge -p '${JSON.stringify({ status: STATUS })}'`,
    );
  }, RAISE_MS);

  const gateway = withGateway(async () => {
    for (let i = 0; i < 2; i++) servers.push(await startFakeProvider({ host: MACHINE }));
    await cluster.apply({
      ...{ apiVersion: 'inference.networking.k8s.io/v1', kind: 'InferencePool' },
      metadata: { name: 'models', namespace: 'default' },
      spec: {
        selector: { matchLabels: POD.metadata.labels },
        targetPorts: servers.map(({ port }) => ({ number: port })),
        endpointPickerRef: { name: 'picker', port: { number: PORT } },
      },
    });
    const started = await cluster.run(`nsenter --net --target "$(cat "$(dirname "$KUBECONFIG")/pid")" \\
      epp --pool-name models --pool-namespace default --grpc-port ${PORT} --secure-serving=false --tracing=false \\
      >picker.log 2>&1 & echo $!`);
    picker = Number(started);
    return {
      config: {
        providers: {
          own: { endpoints: servers.map(({ baseUrl }) => baseUrl), endpoint_picker: `grpc://${NODE}:${PORT}` },
        },
        models: { m: {} },
      },
    };
  });

  afterAll(async () => {
    if (picker) process.kill(picker);
    await Promise.all(servers.map((server) => server.close()));
    await cluster?.remove();
  }, RAISE_MS);

  async function send(count: number): Promise<number[]> {
    const client = await gateway.openClient();
    const asked = () => servers.map((server) => server.requests('m').length);
    const before = asked();
    for (let i = 0; i < count; i++) expect(outcome(await client.chat({ model: 'm', stream: i % 2 > 0 }))).toBe('200');
    return asked().map((now, index) => now - (before[index] ?? 0));
  }

  test('requests go to the server with fewer waiting requests in its metrics', { timeout: RAISE_MS }, async () => {
    for (const [busy, idle] of [
      [0, 1],
      [1, 0],
    ] as const) {
      say(servers[busy], 50);
      say(servers[idle], 0);
      // By chance all of them would go to one server once in a million runs.
      await expect.poll(() => send(20), { timeout: FOUND_MS }).toEqual(idle === 0 ? [20, 0] : [0, 20]);
    }
  });
});

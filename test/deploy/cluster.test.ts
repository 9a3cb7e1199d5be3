// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import { type Operator, openOperator } from '../harness/operator.ts';
import { requirement } from '../harness/requirement.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { creditPoor, POOR_CREDIT_USD, startLoad } from '../load/accident-load.ts';
import type { Seen } from '../load/accident-requests.ts';
import { judge } from '../load/accident-verdict.ts';
import { COUNTED_MODELS, type CountingProvider, startCountingProvider } from '../load/counting-provider.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import {
  type Cluster,
  containersIn,
  fromManual,
  gatewayPods,
  IMAGE,
  killContainer,
  MACHINE,
  missingCluster,
  NAMESPACE,
  raiseCluster,
  startStores,
  untilReady,
} from './cluster.ts';
import { writeOverlay, writeSecrets } from './cluster-overlay.ts';

/**
 * Installs docs/kubernetes.md on a real cluster, and changes and kills pods under requests of all
 * kinds.
 */
const ROUNDS = Number(process.env.CLUSTER_ROUNDS ?? 1);
const REQUESTS_PER_SECOND = Number(process.env.CLUSTER_RATE ?? 50);
const INSTALL_MS = 1_200_000;
const ROUND_MS = 600_000;
const CLIENTS = 12;
/** `timeouts.total` plus a minute, after which the holds of a killed process have ended. */
const HELD_MS = 100_000;
const QUIET_PER_SECOND = 2;
/** Scales faster than the base: up at 75m of CPU, and down without ten quiet minutes. */
const AUTOSCALER = {
  '/spec/maxReplicas': 3,
  '/spec/metrics/0/containerResource/target/averageValue': '75m',
  '/spec/behavior/scaleDown/stabilizationWindowSeconds': 15,
};
const IN_NAMESPACE = `kubectl() { command kubectl -n ${NAMESPACE} "$@"; }`;

let cluster: Cluster;
let counting: CountingProvider;
let recording: FakeProvider;
let databaseUrl: string;
let origin: string;
let operator: Operator;
let printed: string;

requirement(missingCluster(), () => {
  beforeAll(async () => {
    cluster = await raiseCluster();
    counting = await startCountingProvider(MACHINE);
    recording = await startFakeProvider({ host: MACHINE });
    await startStores(cluster);
    writeSecrets(cluster);
    writeOverlay(cluster, configOf());
    printed = await cluster.run(fromManual('Install', 'sh'));
    await untilReady(cluster, 2);
    origin = `http://${await cluster.address(NAMESPACE, 'gateway')}`;
    databaseUrl = `postgres://gateway:gateway@${await cluster.address('stores', 'postgres')}:5432/gateway`;
    operator = await openOperator(databaseUrl);
  }, INSTALL_MS);

  afterAll(async () => {
    await operator?.close();
    await cluster?.remove();
    await counting?.close();
    await recording?.close();
  }, ROUND_MS);

  test(
    'after the steps of the manual the Service serves a completion, and both doctors find no problem',
    async () => {
      const [organizationId] = /org-\w+/.exec(printed) ?? [];
      const created = await inDashboard(`key create --org ${organizationId} --name first --scopes chat --json`);
      const client = gatewayClient(origin, (JSON.parse(created) as { key: string }).key);
      expect(outcome(await client.chat({ model: 'recorded' }))).toBe('200');
      client.close();
      expect(await cluster.run(fromManual('Install', 'sh', 1))).toContain('Everything agrees');
      for (const pod of ['gateway-0 -c gateway', 'gateway-1 -c gateway', 'deploy/dashboard']) {
        const examined = await cluster.run(`kubectl -n ${NAMESPACE} exec ${pod} -- gateway doctor --json`);
        expect(JSON.parse(examined), pod).toMatchObject({ ok: true });
      }
    },
    ROUND_MS,
  );

  test('pods inside and outside can open exactly the connections that the manual permits', {
    timeout: ROUND_MS,
  }, async () => {
    for (const namespace of ['ingress-nginx', 'monitoring', 'elsewhere']) {
      await cluster.run(`kubectl -n ${namespace} run from --image=${IMAGE}:0.1.0 --restart=Never --command -- sleep 3600
        kubectl -n ${namespace} wait --for=condition=Ready pod/from --timeout=2m`);
    }
    const of = (service: string, port: number, namespace = NAMESPACE) =>
      `${service}.${namespace}.svc.cluster.local:${port}`;
    const [first] = await gatewayPods(cluster);
    const places = [
      of('gateway', 80),
      `${first?.status.podIP}:9464`,
      of('dashboard', 80),
      of('postgres', 5432, 'stores'),
      of('redis', 6379, 'stores'),
      `${MACHINE}:1`,
    ];
    const reached = async (from: string) =>
      JSON.parse(
        await cluster.run(`kubectl exec ${from} -- node -e '${CONNECTS}' ${places.join(' ')}`),
      ) as readonly boolean[];
    const [yes, no] = [true, false];
    expect({
      ingress: (await reached('-n ingress-nginx from')).slice(0, 3),
      monitoring: (await reached('-n monitoring from')).slice(0, 3),
      elsewhere: (await reached('-n elsewhere from')).slice(0, 3),
      gateway: await reached(`-n ${NAMESPACE} gateway-0 -c gateway`),
      dashboard: await reached(`-n ${NAMESPACE} deploy/dashboard`),
    }).toEqual({
      ingress: [yes, no, yes],
      monitoring: [no, yes, no],
      elsewhere: [no, no, no],
      gateway: [no, yes, no, yes, yes, yes],
      dashboard: [yes, no, no, yes, no, no],
    });
  });

  test('running pods apply changes of a ConfigMap and a Secret', { timeout: ROUND_MS }, async () => {
    const before = await lives();
    const { key } = await operator.customer();
    writeOverlay(cluster, configOf('added'));
    await cluster.run(`kubectl apply -k my-overlay
      kubectl -n ${NAMESPACE} create secret generic provider-keys --from-literal=openai=second-key --dry-run=client -o yaml | kubectl apply -f -`);
    for (const { status } of await gatewayPods(cluster)) {
      const client = gatewayClient(`http://${status.podIP}:8080`, key);
      const asked = async () => [
        outcome(await client.chat({ model: 'added' })),
        recording.requests('added').at(-1)?.headers.authorization,
      ];
      await expect.poll(asked, { timeout: 180_000, interval: 1_000 }).toEqual(['200', 'Bearer second-key']);
      client.close();
    }
    expect(await lives()).toEqual(before);
  });

  test('under load 2 pods scale to 3 and back to 2, and no request is lost', { timeout: 3 * ROUND_MS }, async () => {
    const patch = Object.entries(AUTOSCALER).map(([path, value]) => ({ op: 'replace', path, value }));
    await cluster.run(`${IN_NAMESPACE}; kubectl patch hpa gateway --type=json -p '${JSON.stringify(patch)}'`);
    const busy = await underLoad('autoscaling, busy', () => untilReady(cluster, 3));
    const quiet = await underLoad('autoscaling, quiet', () => untilReady(cluster, 2), QUIET_PER_SECOND);
    expect([...lost(busy), ...lost(quiet)]).toEqual([]);
  });

  const changes: Readonly<Record<string, string>> = {
    'a rolling restart': `kubectl rollout restart statefulset gateway; kubectl rollout status statefulset gateway --timeout=9m`,
    'a drained node': `kubectl drain node-1 --pod-selector=statefulset.kubernetes.io/pod-name=gateway-0 --delete-emptydir-data --timeout=5m
      kubectl uncordon node-1`,
    'a deleted pod': 'kubectl delete pod gateway-1',
    'a pod more and one less': `kubectl scale statefulset gateway --replicas=3; kubectl rollout status statefulset gateway --timeout=5m
      kubectl scale statefulset gateway --replicas=2; kubectl wait --for=delete pod/gateway-2 --timeout=5m`,
  };
  test.each(Object.entries(changes))('%s loses no request', { timeout: ROUNDS * ROUND_MS }, async (name, change) => {
    // The autoscaler would change the number of pods.
    await cluster.run(`${IN_NAMESPACE}; kubectl delete hpa gateway --ignore-not-found`);
    const seen = await underLoad(name, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        await cluster.run(`${IN_NAMESPACE}\n${change}`);
        await untilReady(cluster, 2);
      }
    });
    expect(lost(seen)).toEqual([]);
  });

  test('an upgrade as in the manual loses no request', { timeout: ROUND_MS }, async () => {
    await cluster.run(`command docker tag ${IMAGE}:0.1.0 ${IMAGE}:0.1.1; docker push ${IMAGE}:0.1.1`);
    writeOverlay(cluster, configOf(), '0.1.1');
    const seen = await underLoad('an upgrade', async () => {
      await cluster.run(fromManual('Upgrade', 'sh'));
      await untilReady(cluster, 2);
    });
    expect(lost(seen)).toEqual([]);
    const images = (await gatewayPods(cluster)).flatMap(({ spec }) => spec.containers.map(({ image }) => image));
    expect(images).toEqual([`${IMAGE}:0.1.1`, `${IMAGE}:0.1.1`]);
  });

  test.each(['gateway', 'envoy'])(
    'after %s is killed, cut responses are charged, and other failures have our envelope',
    { timeout: ROUND_MS },
    async (name) => {
      const seen = await underLoad(`kill -9 of ${name}`, async () => {
        const [pod] = await gatewayPods(cluster);
        const killed = pod && containersIn(pod).find((container) => container.name === name);
        if (!killed) throw new Error(`there is no container ${name}`);
        killContainer(killed);
        await untilReady(cluster, 2, (pods) =>
          pods.flatMap(containersIn).every(({ containerID }) => containerID !== killed.containerID),
        );
      });
      const gone = lost(seen);
      expect(gone.length).toBeGreaterThan(0);
      // A response from anything else than our processes would have no envelope.
      expect(gone.filter((line) => line.includes('not an error envelope'))).toEqual([]);
    },
  );
});

/** A program that connects to addresses and prints which of them accept. */
const CONNECTS = `
  const tried = process.argv.slice(1).map((place) => new Promise((resolve) => {
    const [host, port] = place.split(":");
    const socket = require("node:net").connect({ host, port });
    const end = (reached) => { socket.destroy(); resolve(reached); };
    socket.once("connect", () => end(true)).once("error", (error) => end(error.code === "ECONNREFUSED"));
    setTimeout(end, 4000, false);
  }));
  Promise.all(tried).then((all) => console.log(JSON.stringify(all)));`;

function configOf(added?: string): TestConfig {
  const recorded = ['recorded', ...(added === undefined ? [] : [added])];
  return {
    providers: {
      counting: { base_url: counting.baseUrl, on_disconnect: 'abort' },
      openai: { base_url: recording.baseUrl, api_key: '${file:/secrets/providers/openai}' },
    },
    models: {
      ...Object.fromEntries(COUNTED_MODELS.map((name) => [name, {}])),
      ...Object.fromEntries(recorded.map((name) => [name, { targets: [{ provider: 'openai', model: name }] }])),
    },
    timeouts: { first_byte: '10s', stream_idle: '10s', total: '20s' },
    retries: { per_target: 0 },
  };
}

const inDashboard = (command: string) =>
  cluster.run(`kubectl -n ${NAMESPACE} exec deploy/dashboard -- gateway ${command}`);

/** The properties of pods that a restart would change. */
async function lives() {
  return (await gatewayPods(cluster)).map((pod) => [
    pod.metadata.uid,
    containersIn(pod).map(({ containerID }) => containerID),
  ]);
}

/**
 * Sends requests of all kinds while something happens, and expects that every promise about charges
 * was kept.
 */
async function underLoad(
  name: string,
  happen: () => Promise<void>,
  perSecond = REQUESTS_PER_SECOND,
): Promise<readonly Seen[]> {
  const organization = { concurrency: 10_000 };
  const rich = await operator.customer({ credit: '1000', organization });
  const poor = await operator.customer({ credit: POOR_CREDIT_USD, organization });
  const clientsOf = (key: string): GatewayClient[] => Array.from({ length: CLIENTS }, () => gatewayClient(origin, key));
  const clients = { rich: clientsOf(rich.key), poor: clientsOf(poor.key) };
  const ended = new AbortController();
  const load = startLoad(clients, perSecond);
  const crediting = creditPoor(operator, poor.organizationId, ended.signal);
  try {
    await happen();
  } finally {
    ended.abort();
    await crediting;
  }
  const seen = await load.stop();
  for (const [client] of [clients.rich, clients.poor]) if (client) await untilNothingHeld(client, HELD_MS);
  for (const client of [...clients.rich, ...clients.poor]) client.close();
  const { wrong, figures } = await judge(
    {
      databaseUrl,
      env: { DATABASE_URL: databaseUrl, GATEWAY_CONFIG: join(cluster.folder, 'my-overlay/gateway.yaml') },
    },
    counting,
    seen,
  );
  process.stderr.write(`${name}, ${ROUNDS} times: ${JSON.stringify(figures)}\n`);
  expect(wrong).toEqual([]);
  return seen;
}

/** Requests with outcomes that do not occur on an undisturbed cluster. */
function lost(seen: readonly Seen[]): string[] {
  const isLost = ({ kind, ending, detail }: Seen): boolean => {
    if (ending === 'refused') return !detail.startsWith('402 ');
    return ending === 'cut' || (ending === 'error' && !kind.includes('provider cuts'));
  };
  return seen.filter(isLost).map((one) => `${one.kind} ${one.startedAt.toISOString()} ${one.ending}: ${one.detail}`);
}

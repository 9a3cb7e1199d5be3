import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { vi } from 'vitest';
import { REPOSITORY } from '../harness/deployment.ts';
import { type ImageVariable, imageOf } from '../launchers/images.ts';
import { runToEnd } from './compose.ts';

/**
 * A Kubernetes cluster of one node, and a folder in which the commands of docs/kubernetes.md run
 * unchanged: they find `my-overlay` and `deploy` there. Stand-ins replace a registry and `psql`.
 */
export interface Cluster {
  readonly folder: string;
  /** Runs a bash script in the folder. Resolves with its output. */
  run(script: string): Promise<string>;
  /** `kubectl … -o json`. */
  get<T>(...args: readonly string[]): Promise<T>;
  apply(...manifests: readonly object[]): Promise<void>;
  /** Address of a Service, which is reachable from this machine. */
  address(namespace: string, service: string): Promise<string>;
  remove(): Promise<void>;
}

/** Address of this machine for pods and network policies. */
export const MACHINE = '10.202.0.1';
export const NAMESPACE = 'inference-gateway';
export const IMAGE = 'registry.test/inference-gateway';
const UP = resolve(REPOSITORY, process.env.KUBERNETES_UP ?? '../shared/kubernetes/up.sh');
const MANUAL = readFileSync(join(REPOSITORY, 'docs/kubernetes.md'), 'utf8').replaceAll('REGISTRY/', 'registry.test/');
/** Time for a pod to become ready on a busy machine. */
const READY_MS = 300_000;
const SCRIPT_MS = 1_200_000;

/** Images that are loaded into the cluster besides the gateway's. */
const IMAGES: readonly ImageVariable[] = ['ENVOY_IMAGE', 'POSTGRES_IMAGE', 'REDIS_IMAGE'];

export function missingCluster(): string | undefined {
  const { status, stdout } = spawnSync('bash', [join(REPOSITORY, 'test/deploy/has-cluster.sh')], { encoding: 'utf8' });
  return status === 0 ? undefined : stdout.trim();
}

/** The text of a code block in a section of the manual. */
export function fromManual(section: string, language: 'sh' | 'yaml', index = 0): string {
  const text = MANUAL.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const block = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, of]) => of === language)[index]?.[2];
  if (block === undefined) throw new Error(`docs/kubernetes.md has no block ${index} of ${language} in ${section}`);
  return block;
}

/** `docker push` loads an image into the node. `psql` runs as superuser in PostgreSQL's pod. */
const STAND_INS = `
set -euo pipefail
docker() {
  if [ "$1" = push ]; then bash '${dirname(UP)}/load.sh' "$2"; return; fi
  (cd '${REPOSITORY}' && DOCKER_BUILDKIT=0 command docker build -q --network host --build-arg NODE_IMAGE='${imageOf('NODE_IMAGE')}' "\${@:2}")
}
psql() {
  kubectl -n stores exec -i deploy/stores -c postgres -- env GATEWAY_PROCESS_PASSWORD=process GATEWAY_DASHBOARD_PASSWORD=dashboard \\
    GATEWAY_OPERATOR_PASSWORD=operator GATEWAY_BACKUP_PASSWORD=backup psql -q -U gateway -d gateway -f - <"$2"
}
`;

export async function raiseCluster(images: readonly ImageVariable[] = IMAGES): Promise<Cluster> {
  // Removes the cluster of a former run first.
  const raise = `bash '${dirname(UP)}/down.sh'; eval "$(bash '${UP}')"; printf '%s\\n' "$KUBECONFIG" "$PATH"`;
  // On the disk, because images and volumes are too large for memory.
  const printed = await runToEnd('bash', ['-c', raise], { ...process.env, TMPDIR: '/var/tmp' });
  const [KUBECONFIG, PATH] = printed.trim().split('\n');
  const env = { ...process.env, KUBECONFIG, PATH };
  const folder = mkdtempSync(join(tmpdir(), 'gw-cluster-'));
  symlinkSync(join(REPOSITORY, 'deploy'), join(folder, 'deploy'));
  mkdirSync(join(folder, 'my-overlay'));
  const run = (script: string) => runToEnd('bash', ['-c', `cd '${folder}'\n${STAND_INS}\n${script}`], env, SCRIPT_MS);
  const cluster: Cluster = {
    folder,
    run,
    get: async (...args) => JSON.parse(await runToEnd('kubectl', ['get', ...args, '-o', 'json'], env)),
    apply: async (...manifests) => {
      const file = join(folder, 'applied.json');
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
      await runToEnd('kubectl', ['apply', '-f', file], env);
    },
    address: async (namespace, service) => {
      const { spec } = await cluster.get<{ spec: { clusterIP: string } }>('-n', namespace, 'service', service);
      return spec.clusterIP;
    },
    remove: async () => {
      if (process.env.CLUSTER_KEEP !== undefined) return;
      await runToEnd('bash', [join(dirname(UP), 'down.sh')], env);
      rmSync(folder, { recursive: true });
    },
  };
  if (images.length > 0) await run(`bash '${dirname(UP)}/load.sh' ${images.map(imageOf).join(' ')}`);
  return cluster;
}

/**
 * Builds a program of programs/go.mod into the folder of Kubernetes's programs, where `run` finds
 * it.
 */
export async function buildProgram(cluster: Cluster, goPackage: string): Promise<void> {
  await cluster.run(`cd '${REPOSITORY}/test/deploy/programs'
    CGO_ENABLED=0 nice go build -mod=readonly -o "$(dirname "$(command -v kubectl)")/" ${goPackage}`);
}

/** Starts PostgreSQL and Redis in a namespace of their own, as an operator's existing stores. */
export async function startStores(cluster: Cluster): Promise<void> {
  const labels = { app: 'stores' };
  const metadata = { namespace: 'stores' };
  const env = ['USER', 'PASSWORD', 'DB'].map((name) => ({ name: `POSTGRES_${name}`, value: 'gateway' }));
  // Without a share of the CPU they reply too late on a busy machine, and requests are refused.
  const resources = { requests: { cpu: '150m' } };
  const containers = [
    { name: 'postgres', image: imageOf('POSTGRES_IMAGE'), args: ['-c', 'max_connections=200'], env, resources },
    { name: 'redis', image: imageOf('REDIS_IMAGE'), args: ['--maxmemory-policy', 'noeviction'], resources },
  ];
  const service = (name: string, port: number) => ({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { ...metadata, name } },
    spec: { selector: labels, ports: [{ port }] },
  });
  await cluster.apply(
    ...[
      ...['stores', 'ingress-nginx', 'monitoring', 'elsewhere'].map(namespaceOf),
      service('postgres', 5432),
      service('redis', 6379),
    ],
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...metadata, name: 'stores' } },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    },
  );
  await cluster.run(`kubectl -n stores rollout status deployment/stores --timeout=5m
    until kubectl -n stores exec deploy/stores -c postgres -- pg_isready -q -h 127.0.0.1; do sleep 1; done`);
}

const namespaceOf = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

export interface PodState {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly podIP: string;
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses: readonly ContainerState[];
    readonly initContainerStatuses: readonly ContainerState[];
  };
}

export interface ContainerState {
  readonly name: string;
  readonly containerID: string;
  readonly restartCount: number;
}

export async function gatewayPods(cluster: Cluster): Promise<readonly PodState[]> {
  const selected = ['-n', NAMESPACE, 'pods', '-l', 'app.kubernetes.io/name=gateway'];
  return (await cluster.get<{ items: PodState[] }>(...selected)).items;
}

export function containersIn({ status }: PodState): readonly ContainerState[] {
  return [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
}

/** Waits until exactly this many gateway pods exist and all are ready. */
export async function untilReady(
  cluster: Cluster,
  count: number,
  also = (_: readonly PodState[]) => true,
): Promise<void> {
  const isReady = ({ status }: PodState) =>
    status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  const look = async (): Promise<void> => {
    const pods = await gatewayPods(cluster);
    if (pods.length === count && pods.every(isReady) && also(pods)) return;
    throw new Error(`the pods are not ready: ${JSON.stringify(pods.map(({ status }) => status))}`);
  };
  await vi.waitFor(look, { timeout: READY_MS, interval: 500 });
}

/** Sends SIGKILL to every process of a container from the host. */
export function killContainer({ containerID }: ContainerState): void {
  const id = containerID.replace(/^.*\/\//, '');
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (cgroupOf(pid).includes(id)) process.kill(Number(pid), 'SIGKILL');
  }
}

function cgroupOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch {
    return ''; // It has ended since it was listed.
  }
}

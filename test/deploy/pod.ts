import { join } from 'node:path';
import { REPOSITORY } from '../harness/deployment.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { POSTGRES_PASSWORD, REDIS_PASSWORD, runToEnd } from './compose.ts';
import { renderKustomization } from './kustomize.ts';
import { type Container, podsOf } from './pods.ts';

/**
 * The pod of deploy/kubernetes as Docker containers on one network. They are ended in the order of
 * a kubelet.
 */
export interface TestPod {
  readonly apiOrigin: string;
  readonly metricsOrigin: string;
  /** Resolves with the exit statuses of gateway process and Envoy. */
  terminate(): Promise<readonly string[]>;
  /** Output of both containers. */
  logs(): Promise<string>;
  remove(): Promise<void>;
}

export interface TestPodOptions {
  /**
   * Ports are published on the first network. `postgres`, `redis` and the provider are on the
   * others.
   */
  readonly networks: readonly [string, ...string[]];
  /** Prefix of the names of containers and volumes. */
  readonly prefix: string;
  readonly image: string;
}

const docker = (...args: readonly string[]) => runToEnd('docker', args, process.env);

export async function startPod({ networks: [network, ...networks], prefix, image }: TestPodOptions): Promise<TestPod> {
  const { gateway, envoy } = containersOfManifest();
  const [api, metrics] = await freePorts(2);
  const names = { pause: `${prefix}-pause`, gateway: `${prefix}-gateway`, envoy: `${prefix}-envoy` };
  const volumes = { shared: `${prefix}-shared`, spool: `${prefix}-spool` };
  const remove = async (): Promise<void> => {
    await docker('rm', '-f', '-v', ...Object.values(names));
    await docker('volume', 'rm', '-f', ...Object.values(volumes));
  };
  try {
    for (const volume of Object.values(volumes)) await createVolume(volume);
    const shared = ['-v', `${volumes.shared}:/data`];
    const ports = ['-p', `127.0.0.1:${api}:8080`, '-p', `127.0.0.1:${metrics}:9464`];
    await docker('run', '-d', '--name', names.pause, '--network', network, ...ports, ...shared, image, 'sleep', '600');
    for (const another of networks) await docker('network', 'connect', another, names.pause);
    const inside = ['--network', `container:${names.pause}`, ...SECURITY, ...shared];
    const [entrypoint = '', ...first] = envoy.command ?? [];
    const envoyImage = process.env.ENVOY_IMAGE ?? envoy.image;
    const run = ['run', '-d', '--name', names.envoy, ...inside, '--entrypoint', entrypoint, envoyImage];
    await docker(...run, ...first, ...(envoy.args ?? []));
    const folders = [
      '-v',
      `${volumes.spool}:/data/spool`,
      '-v',
      `${join(REPOSITORY, 'deploy/compose/config')}:/config:ro`,
    ];
    const own = [...folders, '--tmpfs', '/tmp', ...environment(gateway)];
    await docker('run', '-d', '--name', names.gateway, ...inside, ...own, image);
  } catch (error) {
    await remove();
    throw error;
  }
  const preStop = (name: string, { lifecycle }: Container) =>
    docker('exec', name, ...(lifecycle?.preStop.exec.command ?? []));
  const end = async (name: string): Promise<string> => {
    await docker('kill', '-s', 'TERM', name);
    return (await docker('wait', name)).trim();
  };
  return {
    apiOrigin: `http://127.0.0.1:${api}`,
    metricsOrigin: `http://127.0.0.1:${metrics}`,
    terminate: async () => {
      await Promise.all([preStop(names.envoy, envoy), preStop(names.gateway, gateway)]);
      // A sidecar ends after the other containers.
      return [await end(names.gateway), await end(names.envoy)];
    },
    logs: async () => `${await docker('logs', names.gateway)}\n${await docker('logs', names.envoy)}`,
    remove,
  };
}

function containersOfManifest(): { gateway: Container; envoy: Container } {
  const pods = podsOf(renderKustomization(join(REPOSITORY, 'deploy/kubernetes')));
  const spec = pods.find(({ name }) => name === 'gateway')?.spec;
  const [gateway] = spec?.containers ?? [];
  const [envoy] = spec?.initContainers ?? [];
  if (gateway === undefined || envoy === undefined) throw new Error('the manifest has no pod of gateway and Envoy');
  return { gateway, envoy };
}

const SECURITY = ['--user', '10001:10001', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
const STORES: Readonly<Record<string, string>> = {
  DATABASE_URL: `postgres://gateway:${POSTGRES_PASSWORD}@postgres:5432/gateway`,
  REDIS_URL: `redis://:${REDIS_PASSWORD}@redis:6379`,
};

function environment({ env = [] }: Container): string[] {
  const named = env.map(({ name, value }) => `${name}=${value ?? STORES[name] ?? ''}`);
  return [...named, 'OPENAI_API_KEY='].flatMap((entry) => ['-e', entry]);
}

/** Creates a volume in memory, with the group of `fsGroup`. */
function createVolume(name: string): Promise<string> {
  const options = ['type=tmpfs', 'device=tmpfs', 'o=uid=0,gid=10001,mode=2770'].flatMap((option) => ['--opt', option]);
  return docker('volume', 'create', '--driver', 'local', ...options, name);
}

import { readFileSync } from 'node:fs';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { within } from '#core/within.ts';
import { keepOutput, type LaunchedProcess } from './launched-process.ts';
import { removeWhenWeEnd } from './leftovers.ts';
import { signalAll, withChildren } from './process-tree.ts';

export interface ContainerLaunch {
  readonly image: string;
  /** Replaces the entry point of the image. */
  readonly entrypoint?: readonly string[];
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Folders of the host, mounted at the same paths in the container. */
  readonly folders?: readonly string[];
  readonly sharedMemoryBytes?: number;
}

/**
 * A container on the host's network. Its pid is the one on the host, so the process can be
 * signalled like any other.
 */
export interface Container extends LaunchedProcess {
  /** Pids of the processes in the container, the init process first. */
  processes(): readonly number[];
}

/** `processName` is the process under test. The image's entry point may run it as a child. */
export async function startContainer(processName: string, launch: ContainerLaunch): Promise<Container> {
  const started = await prepare(launch).start();
  const { container: client } = await getContainerRuntimeClient();
  const handle = client.getById(started.getId());
  const output = keepOutput();
  const logs = await client.logs(handle);
  logs.on('data', (text: string) => output.keep(Buffer.from(text)));
  let ended = false;
  const exited = handle.wait().then(() => {
    ended = true;
  });
  // 0 if the container has already ended.
  const firstPid = (await handle.inspect()).State.Pid;
  const pid = (): number => processIn(firstPid, processName);
  let removed: Promise<unknown> | undefined;
  return {
    command: `${launch.image} ${launch.args.join(' ')}`,
    get pid() {
      return pid();
    },
    processes: () => [...new Set([firstPid, ...withChildren(pid())])],
    output: output.text,
    hasEnded: () => ended,
    exited,
    end: async (signal = 'SIGTERM', graceMs = 5000) => {
      if (!ended) signalAll([pid()], signal);
      if (!(await within(exited, graceMs))) {
        signalAll([pid()], 'SIGKILL');
        // Bounded, because the container is removed even if the daemon never reports its end.
        await within(exited, graceMs);
      }
      removed ??= started.stop({ timeout: 0, remove: true, removeVolumes: true });
      await removed;
    },
  };
}

function prepare({ image, entrypoint, args, environment = {}, folders = [], sharedMemoryBytes }: ContainerLaunch) {
  const container = new GenericContainer(image)
    .withCommand([...args])
    .withEnvironment(environment)
    .withNetworkMode('host')
    .withBindMounts(folders.map((folder) => ({ source: folder, target: folder })))
    .withLabels(removeWhenWeEnd())
    // The library's own clean-up is another container, which keeps running for a while.
    .withAutoCleanup(false)
    // Callers check readiness themselves.
    .withWaitStrategy(Wait.forListeningPorts());
  if (entrypoint !== undefined) container.withEntrypoint([...entrypoint]);
  if (sharedMemoryBytes !== undefined) container.withSharedMemorySize(sharedMemoryBytes);
  // The same user as this process, which can then remove its files and signal it.
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  return uid === 0 || uid === undefined ? container : container.withUser(`${uid}:${gid}`);
}

function processIn(first: number, name: string): number {
  return nameOf(first) === name ? first : (withChildren(first).find((pid) => nameOf(pid) === name) ?? first);
}

function nameOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

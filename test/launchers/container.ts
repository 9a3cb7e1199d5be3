import { readFileSync } from 'node:fs';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { within } from '#core/within.ts';
import { keepOutput, type LaunchedProcess } from './launched-process.ts';
import { removeWhenWeEnd } from './leftovers.ts';
import { withChildren } from './process-tree.ts';

export interface ContainerLaunch {
  readonly image: string;
  /** Instead of the image's. */
  readonly entrypoint?: readonly string[];
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Folders of this machine, at the same paths in the container. */
  readonly folders?: readonly string[];
  readonly sharedMemoryBytes?: number;
}

/**
 * A container whose process can be signalled as one of this machine: it has its network, and its
 * pid is the one out here.
 */
export interface Container extends LaunchedProcess {
  /** Processes in the container, first the one that waits for the others. */
  processes(): readonly number[];
}

/**
 * `processName` is what counts in the container; an image's entry point may stay before it and
 * wait.
 */
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
  // 0 when it ended before anybody looked.
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
      if (!ended) signalIfAlive(pid(), signal);
      if (!(await within(exited, graceMs))) {
        signalIfAlive(pid(), 'SIGKILL');
        // No longer: a container whose end the daemon never reports is removed all the same.
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
    // Its own way to clean up is one more container, which runs on for a while.
    .withAutoCleanup(false)
    // The caller of `start` knows when it is ready.
    .withWaitStrategy(Wait.forListeningPorts());
  if (entrypoint !== undefined) container.withEntrypoint([...entrypoint]);
  if (sharedMemoryBytes !== undefined) container.withSharedMemorySize(sharedMemoryBytes);
  // The files that it makes are then ours, and so is the right to signal it.
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

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  // Pid 0 means this process and its group.
  if (pid === 0) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

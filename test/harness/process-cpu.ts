import { readdirSync, readFileSync } from 'node:fs';

/**
 * Names of process groups with their pids. CPU time is read from /proc, with that of ended
 * children.
 */
export type ProcessGroup = Readonly<Record<string, readonly number[]>>;

/** USER_HZ, the unit of /proc/PID/stat on every Linux that this runs on. */
const TICKS_PER_SECOND = 100;
export const MICROS_PER_TICK = 1_000_000 / TICKS_PER_SECOND;

/** CPU time so far for each name. A pid stands for the process and all its descendants. */
export function cpuMicros(groups: ProcessGroup): Record<string, number> {
  const trees = treesOf(groups);
  return Object.fromEntries(
    Object.entries(trees).map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + processMicros(pid), 0)]),
  );
}

function processMicros(pid: number): number {
  const stat = readStat(`/proc/${pid}/stat`);
  if (!stat) return 0;
  const nanos = threadsOf(pid).reduce((sum, thread) => sum + threadNanos(pid, thread), 0);
  return nanos / 1000 + (stat.endedUserTicks + stat.endedKernelTicks) * MICROS_PER_TICK;
}

/** The processes of each name with all their descendants. */
export function treesOf(groups: ProcessGroup): Record<string, number[]> {
  const children = childrenByParent();
  const treeOf = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(treeOf)];
  return Object.fromEntries(Object.entries(groups).map(([name, pids]) => [name, pids.flatMap(treeOf)]));
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(`/proc/${name}/stat`);
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
  }
  return children;
}

export interface Stat {
  /** The thread's name, or the process's. */
  readonly name: string;
  readonly parent: number;
  readonly userTicks: number;
  readonly kernelTicks: number;
  /** CPU time of ended children. */
  readonly endedUserTicks: number;
  readonly endedKernelTicks: number;
}

/**
 * Reads the `stat` file of a process, which includes its ended threads, or of a thread. `undefined`
 * when it has ended.
 */
export function readStat(path: string): Stat | undefined {
  const text = readIfThere(path);
  if (text === '') return undefined;
  // The name in parentheses may contain blanks, so fields are counted after it: state, parent, …,
  // user, system, children's user and system.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const [userTicks = 0, kernelTicks = 0, endedUserTicks = 0, endedKernelTicks = 0] = fields.slice(11, 15).map(Number);
  return {
    name: text.slice(text.indexOf('(') + 1, end),
    parent: Number(fields[1]),
    userTicks,
    kernelTicks,
    endedUserTicks,
    endedKernelTicks,
  };
}

/**
 * CPU time of a thread. /proc/PID/stat counts in hundredths of a second, which is too coarse for
 * what plain Envoy uses in one round.
 */
export function threadNanos(pid: number, thread: number): number {
  return Number(readIfThere(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]);
}

export function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return []; // It has ended since it was listed.
  }
}

/** The text of a file under /proc. Empty when its process has ended. */
export function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // It has ended since it was listed.
  }
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

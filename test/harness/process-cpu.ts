import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU that processes have used, from /proc: of every thread that lives, and of children that have
 * ended.
 */
export type ProcessGroup = Readonly<Record<string, readonly number[]>>;

/** USER_HZ: what /proc/PID/stat counts in, on every Linux this runs on. */
const TICKS_PER_SECOND = 100;

/** Microseconds so far for each name; a pid stands for itself and all its descendants. */
export function cpuMicros(groups: ProcessGroup): Record<string, number> {
  const children = childrenByParent();
  const micros: Record<string, number> = {};
  for (const [name, pids] of Object.entries(groups)) {
    micros[name] = pids.reduce((sum, pid) => sum + treeMicros(pid, children), 0);
  }
  return micros;
}

function treeMicros(pid: number, children: ReadonlyMap<number, readonly number[]>): number {
  const own = readStat(pid);
  if (!own) return 0;
  const below = (children.get(pid) ?? []).reduce((sum, child) => sum + treeMicros(child, children), 0);
  return threadMicros(pid) + own.endedChildrenMicros + below;
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
  }
  return children;
}

function readStat(pid: number): { parent: number; endedChildrenMicros: number } | undefined {
  const text = readIfThere(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  // The name in parentheses may hold blanks, so fields are counted from behind it: state, parent,
  // …, user, system, children's user and system.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[13]) + Number(fields[14]);
  return { parent: Number(fields[1]), endedChildrenMicros: (ticks * 1_000_000) / TICKS_PER_SECOND };
}

/**
 * In nanoseconds, where /proc/PID/stat has hundredths of a second: too coarse for what plain Envoy
 * uses in one round.
 */
function threadMicros(pid: number): number {
  let nanos = 0;
  for (const thread of threadsOf(pid)) {
    nanos += Number(readIfThere(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]);
  }
  return nanos / 1000;
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // It has ended since it was listed.
  }
}

function readIfThere(path: string): string {
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

import { readdirSync, readFileSync } from 'node:fs';

/** CPU that processes have used, from /proc: user and system time of every thread, and of children that have ended. */
export type ProcessGroup = Readonly<Record<string, readonly number[]>>;

/** USER_HZ: what /proc counts in, on every Linux this runs on. */
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
  return own.micros + below;
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

function readStat(pid: number): { parent: number; micros: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined; // It has ended since it was listed.
  }
  // The name in parentheses may hold blanks, so fields are counted from behind it: state, parent, …, then the four times.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), micros: (ticks * 1_000_000) / TICKS_PER_SECOND };
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

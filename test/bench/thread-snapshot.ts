import {
  MICROS_PER_TICK,
  type ProcessGroup,
  readIfThere,
  readStat,
  type Stat,
  threadNanos,
  threadsOf,
  treesOf,
} from '../harness/process-cpu.ts';
import { ENDED, type Snapshot, type ThreadUse } from './ledger.ts';
import { groupOf } from './thread-groups.ts';

/**
 * CPU use so far of every thread of these processes and their descendants. The ended children of a
 * process, such as PostgreSQL's autovacuum workers, count as one more thread.
 */
export function snapshotOf(groups: ProcessGroup): Snapshot {
  const threads = new Map<number, ThreadUse>();
  let kernelsMicros = 0;
  for (const [process, pids] of Object.entries(treesOf(groups))) {
    for (const pid of pids) {
      const stat = readStat(`/proc/${pid}/stat`);
      if (!stat) continue;
      kernelsMicros +=
        (stat.userTicks + stat.kernelTicks + stat.endedUserTicks + stat.endedKernelTicks) * MICROS_PER_TICK;
      const commandLine = readIfThere(`/proc/${pid}/cmdline`);
      for (const thread of threadsOf(pid)) {
        const use = readThread(process, pid, thread, commandLine);
        if (use) threads.set(thread, use);
      }
      if (stat.endedUserTicks + stat.endedKernelTicks > 0) threads.set(-pid, endedChildren(process, stat));
    }
  }
  return { threads, kernelsMicros };
}

function endedChildren(process: string, { endedUserTicks, endedKernelTicks }: Stat): ThreadUse {
  return {
    process,
    group: ENDED,
    micros: (endedUserTicks + endedKernelTicks) * MICROS_PER_TICK,
    userTicks: endedUserTicks,
    kernelTicks: endedKernelTicks,
    wakeUps: 0,
  };
}

function readThread(process: string, pid: number, thread: number, commandLine: string): ThreadUse | undefined {
  const stat = readStat(`/proc/${pid}/task/${thread}/stat`);
  if (!stat) return undefined;
  const waits = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readIfThere(`/proc/${pid}/task/${thread}/status`));
  return {
    process,
    group: groupOf(process, thread === pid, stat.name, commandLine),
    micros: threadNanos(pid, thread) / 1000,
    userTicks: stat.userTicks,
    kernelTicks: stat.kernelTicks,
    wakeUps: Number(waits?.[1] ?? 0),
  };
}

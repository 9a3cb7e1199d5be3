import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../domain/clock.ts';
import type { ProcessReport } from '../stores/process-reports.ts';

/** What the process takes of its machine. */
export interface MachineMeter {
  /** Since the last call. */
  take(): Pick<ProcessReport, 'overMs' | 'eventLoopLagMs' | 'rssBytes' | 'heapUsedBytes' | 'cpuFraction'>;
  close(): void;
}

/** A timer that should fire this often: what it is late by is the lag. */
const RESOLUTION_MS = 20;

export function createMachineMeter(clock: Clock): MachineMeter {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let atMs = clock.monotonicMs();
  let cpu = process.cpuUsage();
  return {
    take() {
      const nowMs = clock.monotonicMs();
      const nowCpu = process.cpuUsage();
      const overMs = Math.max(1, nowMs - atMs);
      const cpuMs = (nowCpu.user + nowCpu.system - cpu.user - cpu.system) / 1000;
      const { rss, heapUsed } = process.memoryUsage();
      const taken = {
        overMs: Math.round(overMs),
        eventLoopLagMs: {
          p50: lagMs(delay.percentile(50)),
          p99: lagMs(delay.percentile(99)),
          max: lagMs(delay.max),
        },
        rssBytes: rss,
        heapUsedBytes: heapUsed,
        cpuFraction: rounded(cpuMs / overMs, 1000),
      };
      atMs = nowMs;
      cpu = nowCpu;
      delay.reset();
      return taken;
    },
    close: () => void delay.disable(),
  };
}

/** The histogram holds nanoseconds from one firing to the next. */
export function lagMs(betweenFiringsNs: number): number {
  return rounded(Math.max(0, betweenFiringsNs / 1e6 - RESOLUTION_MS), 10);
}

function rounded(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}

import { createHistogram } from 'node:perf_hooks';
import type { Clock } from '#core/clock.ts';
import type { ProcessReport } from '#database/process-reports/report.ts';

export type MachineMeter = ReturnType<typeof createMachineMeter>;

/** Interval of a timer whose delay is the lag. Shorter would wake an idle process more often. */
const RESOLUTION_MS = 50;

/**
 * Measures the CPU, the memory and the event-loop lag of the process.
 *
 * A timer of our own: `monitorEventLoopDelay` forgets at every reset when it fired last, so it
 * misses a stall that begins just after one, such as that of the report itself.
 */
export function createMachineMeter(clock: Clock) {
  const lag = createHistogram();
  let firedMs = clock.monotonicMs();
  const timer = setInterval(() => {
    const nowMs = clock.monotonicMs();
    lag.record(Math.max(1, Math.round((nowMs - firedMs - RESOLUTION_MS) * 1000)));
    firedMs = nowMs;
  }, RESOLUTION_MS);
  timer.unref();
  let atMs = clock.monotonicMs();
  let cpu = process.cpuUsage();
  return {
    /** Figures since the last call. */
    take(): Pick<ProcessReport, 'overMs' | 'eventLoopLagMs' | 'rssBytes' | 'heapUsedBytes' | 'cpuFraction'> {
      const nowMs = clock.monotonicMs();
      const nowCpu = process.cpuUsage();
      const overMs = Math.max(1, nowMs - atMs);
      const cpuMs = (nowCpu.user + nowCpu.system - cpu.user - cpu.system) / 1000;
      const { rss, heapUsed } = process.memoryUsage();
      const taken = {
        overMs: Math.round(overMs),
        eventLoopLagMs: {
          p50: lagMs(lag.percentile(50)),
          p99: lagMs(lag.percentile(99)),
          max: lagMs(lag.max),
        },
        rssBytes: rss,
        heapUsedBytes: heapUsed,
        cpuFraction: rounded(cpuMs / overMs, 1000),
      };
      atMs = nowMs;
      cpu = nowCpu;
      lag.reset();
      return taken;
    },
    close: () => clearInterval(timer),
  };
}

/** Converts to milliseconds. Less than one is no lag: timers fire on whole milliseconds. */
function lagMs(microseconds: number): number {
  return microseconds < 1000 ? 0 : rounded(microseconds / 1000, 10);
}

function rounded(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}

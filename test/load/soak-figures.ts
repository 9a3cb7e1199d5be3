import { readdirSync, readFileSync } from 'node:fs';
import { readMetrics, type Sample } from '../harness/metrics-page.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import { withChildren } from '../launchers/process-tree.ts';

/** The processes of a soak test whose resources are measured in each interval. */
export interface Watched {
  readonly gatewayPid: number;
  readonly envoyPid: number;
  readonly postgresPid: number;
  readonly metricsOrigin: string;
}

export interface Usage {
  readonly gatewayRssMiB: number;
  readonly envoyRssMiB: number;
  /** Shared buffers counted once. */
  readonly postgresMiB: number;
  /** Lowest reading of an interval, which is the heap after a garbage collection. */
  readonly heapMiB: number;
  readonly gatewayFds: number;
  readonly envoyFds: number;
  readonly holds: number;
}

const MIB = 1024 * 1024;

export async function readUsage(watched: Watched): Promise<Usage> {
  const { samples } = await readMetrics(watched.metricsOrigin);
  return {
    gatewayRssMiB: residentBytes(watched.gatewayPid) / MIB,
    envoyRssMiB: residentBytes(watched.envoyPid) / MIB,
    postgresMiB: withChildren(watched.postgresPid).reduce((sum, pid) => sum + proportionalBytes(pid), 0) / MIB,
    heapMiB: sumOf(samples, 'nodejs_heap_size_used_bytes') / MIB,
    gatewayFds: openFiles(watched.gatewayPid),
    envoyFds: openFiles(watched.envoyPid),
    holds: sumOf(samples, 'gateway_holds'),
  };
}

/**
 * Memory varies with garbage collection, so the lowest reading of an interval shows what is
 * retained. For other figures the last reading counts.
 */
export function summarize(readings: readonly [Usage, ...Usage[]]): Usage {
  const lowest = (name: keyof Usage): number => Math.min(...readings.map((usage) => usage[name]));
  return {
    ...(readings.at(-1) ?? readings[0]),
    gatewayRssMiB: lowest('gatewayRssMiB'),
    envoyRssMiB: lowest('envoyRssMiB'),
    heapMiB: lowest('heapMiB'),
  };
}

function sumOf(samples: readonly Sample[], name: string): number {
  return samples.filter((sample) => sample.name === name).reduce((sum, { value }) => sum + value, 0);
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Proportional set size (Pss). 0 for a backend that has just ended. */
function proportionalBytes(pid: number): number {
  try {
    const line = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
    return Number(line?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** One interval of a soak. */
export interface Interval {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly usage: Usage;
}

/**
 * Highest growth per interval at which memory counts as flat, and highest ratio of the median
 * latencies.
 */
export interface FlatBounds {
  readonly gatewayMiB: number;
  readonly envoyMiB: number;
  readonly p50Factor: number;
}

export interface Trend {
  /** MiB per interval, over the last two thirds. */
  readonly gatewaySlopeMiB: number;
  readonly envoySlopeMiB: number;
  readonly heapSlopeMiB: number;
  /** Median of the medians in the last third, divided by that in the middle third. */
  readonly p50Ratio: number;
}

export function trendOf(intervals: readonly Interval[]): Trend {
  const third = Math.floor(intervals.length / 3);
  const settled = intervals.slice(third);
  const slope = (name: keyof Usage): number => slopeOf(settled.map(({ usage }) => usage[name]));
  const medianOf = (part: readonly Interval[]): number => median(part.map(({ p50Ms }) => p50Ms));
  return {
    gatewaySlopeMiB: slope('gatewayRssMiB'),
    envoySlopeMiB: slope('envoyRssMiB'),
    heapSlopeMiB: slope('heapMiB'),
    p50Ratio: medianOf(intervals.slice(-third)) / medianOf(intervals.slice(third, -third)),
  };
}

/** Describes the figures that are not flat. Empty if all are. */
export function whatIsNotFlat(trend: Trend, bounds: FlatBounds): string[] {
  const found: string[] = [];
  const grows = (who: string, slopeMiB: number, boundMiB: number): void => {
    if (!(slopeMiB <= boundMiB)) found.push(`${who} grows by ${slopeMiB.toFixed(2)} MiB in each interval`);
  };
  grows('the gateway', trend.gatewaySlopeMiB, bounds.gatewayMiB);
  grows('Envoy', trend.envoySlopeMiB, bounds.envoyMiB);
  if (!(trend.p50Ratio <= bounds.p50Factor)) found.push(`the median is ${trend.p50Ratio.toFixed(2)} times slower`);
  return found;
}

/**
 * The median of the slopes between all pairs. A single step, such as more garbage after a stall, is
 * no growth.
 */
function slopeOf(values: readonly number[]): number {
  const slopes = values.flatMap((later, at) =>
    values.slice(0, at).map((earlier, from) => (later - earlier) / (at - from)),
  );
  return median(slopes);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

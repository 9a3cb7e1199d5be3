import type { Generator } from '../load/children.ts';
import type { LoadResult } from '../load/load-job.ts';
import type { ProcessGroup } from './process-cpu.ts';
import { bodyOf, type Scenario } from './scenarios.ts';

export interface Side {
  readonly name: string;
  readonly origin: string;
  readonly key: string;
  readonly processes: ProcessGroup;
}

export interface Round {
  readonly side: string;
  readonly scenario: string;
  /** Per request, or per event where the scenario has events; by process. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  readonly latencyP50Ms: number;
  /** From the start of the request to the first byte of its answer's body. */
  readonly firstByteP50Ms: number;
  readonly latencyP99Ms: number;
  readonly requestsPerSecond: number;
}

export async function measureRound(
  generator: Generator,
  side: Side,
  scenario: Scenario,
  cpuOf: (processes: ProcessGroup) => Record<string, number>,
): Promise<Round> {
  const before = cpuOf(side.processes);
  const result = await generator.run({
    origin: side.origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${side.key}` },
    body: bodyOf(scenario),
    concurrency: scenario.concurrency,
    requests: scenario.requests,
    mustContain: scenario.stream ? 'data: [DONE]' : '"finish_reason":"stop"',
  });
  const after = cpuOf(side.processes);
  refuseFaults(side, scenario, result);
  const units = scenario.requests * (scenario.events ?? 1);
  return {
    side: side.name,
    scenario: scenario.name,
    cpuMicros: Object.fromEntries(
      Object.entries(after).map(([name, micros]) => [name, (micros - (before[name] ?? 0)) / units]),
    ),
    latencyP50Ms: result.latencyMs.p50,
    firstByteP50Ms: result.firstByteMs.p50,
    latencyP99Ms: result.latencyMs.p99,
    requestsPerSecond: result.good / result.seconds,
  };
}

/** A figure over failed requests would be a figure for nothing. */
function refuseFaults(side: Side, scenario: Scenario, result: LoadResult): void {
  if (result.good === scenario.requests) return;
  throw new Error(`${side.name}, ${scenario.name}: ${JSON.stringify(result.faults)}`);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicros, residentBytes } from '../harness/process-cpu.ts';
import { type Ledger, ledgerBetween } from './ledger.ts';
import { bodyOf, endOf, type Scenario } from './scenarios.ts';
import { type BenchSetup, OTHERS, PLAIN, type Side, type SideName } from './sides.ts';
import { snapshotOf } from './thread-snapshot.ts';

export interface Round {
  readonly scenario: string;
  readonly side: SideName;
  readonly requests: number;
  /** CPU time by process, per request or, in scenarios with events, per event. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** The same CPU time by groups of threads, for all requests together. */
  readonly ledger: Ledger;
  /** CPU time of the load, which shares the machine but is not counted. */
  readonly loadMicros: Readonly<Record<'generator' | 'provider', number>>;
  /** Resident memory by process at the end of the round. */
  readonly residentBytes: Readonly<Record<string, number>>;
  readonly latencyMs: { readonly p50: number; readonly p99: number };
  /** From the start of a request to the first byte of the response body. */
  readonly firstByteMs: { readonly p50: number; readonly p99: number };
  readonly requestsPerSecond: number;
  readonly faults: Readonly<Record<string, number>>;
}

/**
 * The request log writes its last rows half a second after the last request. They are counted in
 * the round that caused them.
 */
const LOG_TAIL_MS = 700;

async function measureRound(setup: BenchSetup, side: Side, scenario: Scenario): Promise<Round> {
  const { generator, provider } = setup;
  const load = { generator: [generator.pid], provider: [provider.pid] };
  const threadsBefore = snapshotOf(side.processes);
  const before = cpuMicros({ ...side.processes, ...load });
  const result = await generator.run({
    origin: side.origin,
    path: scenario.door?.path ?? '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    ...(side.keys.length === 0 ? {} : { keys: side.keys.slice(0, scenario.organizations ?? 1) }),
    body: bodyOf(scenario),
    concurrency: scenario.concurrency,
    requests: scenario.requests,
    mustContain: endOf(scenario, side.name === PLAIN),
    ...(scenario.rampMs === undefined ? {} : { rampMs: scenario.rampMs }),
  });
  if (!OTHERS.includes(side.name)) await sleep(LOG_TAIL_MS);
  const after = cpuMicros({ ...side.processes, ...load });
  const units = scenario.requests * (scenario.events ?? 1);
  const used = (name: string): number => ((after[name] ?? 0) - (before[name] ?? 0)) / units;
  return {
    scenario: scenario.name,
    side: side.name,
    requests: scenario.requests,
    cpuMicros: Object.fromEntries(Object.keys(side.processes).map((name) => [name, used(name)])),
    ledger: ledgerBetween(threadsBefore, snapshotOf(side.processes)),
    loadMicros: { generator: used('generator'), provider: used('provider') },
    residentBytes: Object.fromEntries(
      Object.entries(side.processes).map(([name, pids]) => [
        name,
        pids.reduce((sum, pid) => sum + residentBytes(pid), 0),
      ]),
    ),
    latencyMs: { p50: result.latencyMs.p50, p99: result.latencyMs.p99 },
    firstByteMs: { p50: result.firstByteMs.p50, p99: result.firstByteMs.p99 },
    requestsPerSecond: result.good / result.seconds,
    faults: result.faults,
  };
}

/** Sides take turns, so that other load on the machine affects all of them. */
export async function measureScenario(setup: BenchSetup, scenario: Scenario, wanted: RoundCounts): Promise<Round[]> {
  const sides = setup.sides.filter(({ name }) => scenario.sides.includes(name));
  const rounds: Round[] = [];
  for (let round = 0; round < Math.min(scenario.warmUps, wanted.warmUps); round++) {
    for (const side of sides) await measureRound(setup, side, scenario);
  }
  for (let round = 0; round < Math.min(scenario.mostRounds ?? wanted.rounds, wanted.rounds); round++) {
    for (const side of sides) rounds.push(await measureRound(setup, side, scenario));
  }
  return rounds;
}

/**
 * Alternates the scenarios too, once all are warm, so that they can be compared with each other.
 */
export async function measureInTurns(
  setup: BenchSetup,
  scenarios: readonly Scenario[],
  wanted: RoundCounts,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (const scenario of scenarios) await measureScenario(setup, scenario, { ...wanted, rounds: 0 });
  for (let round = 0; round < wanted.rounds; round++) {
    for (const scenario of scenarios)
      rounds.push(...(await measureScenario(setup, scenario, { warmUps: 0, rounds: 1 })));
  }
  return rounds;
}

export interface RoundCounts {
  /** Most warm-up rounds of a scenario. */
  readonly warmUps: number;
  readonly rounds: number;
}

import type { Round } from './round.ts';

/** Medians of the rounds of one scenario and side. */
export interface Figures extends Omit<Round, 'faults' | 'ledger' | 'requests'> {
  readonly rounds: number;
  /** Median of the sums over processes. */
  readonly totalCpuMicros: number;
  /** Sum over all rounds, not a median. */
  readonly faults: Readonly<Record<string, number>>;
}

export function summarize(rounds: readonly Round[]): Figures[] {
  const groups = Map.groupBy(rounds, ({ scenario, side }) => `${scenario}\n${side}`);
  return [...groups.values()].map(summarizeOne);
}

function summarizeOne(rounds: readonly Round[]): Figures {
  const [first] = rounds;
  if (first === undefined) throw new Error('no rounds');
  const mid = (of: (round: Round) => number): number => median(rounds.map(of));
  const each = (of: (round: Round) => Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.keys(of(first)).map((name) => [name, mid((round) => of(round)[name] ?? 0)]));
  const times = (of: (round: Round) => Round['latencyMs']) => ({
    p50: mid((round) => of(round).p50),
    p99: mid((round) => of(round).p99),
  });
  return {
    scenario: first.scenario,
    side: first.side,
    rounds: rounds.length,
    totalCpuMicros: mid(totalCpuMicros),
    cpuMicros: each((round) => round.cpuMicros),
    loadMicros: {
      generator: mid((round) => round.loadMicros.generator),
      provider: mid((round) => round.loadMicros.provider),
    },
    residentBytes: each((round) => round.residentBytes),
    latencyMs: times((round) => round.latencyMs),
    firstByteMs: times((round) => round.firstByteMs),
    requestsPerSecond: mid((round) => round.requestsPerSecond),
    faults: sumOfFaults(rounds),
  };
}

function totalCpuMicros(round: Round): number {
  return Object.values(round.cpuMicros).reduce((sum, part) => sum + part, 0);
}

function sumOfFaults(rounds: readonly Round[]): Record<string, number> {
  const faults: Record<string, number> = {};
  for (const round of rounds) {
    for (const [fault, count] of Object.entries(round.faults)) faults[fault] = (faults[fault] ?? 0) + count;
  }
  return faults;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

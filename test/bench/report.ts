import type { Round } from './round.ts';
import { SCENARIOS } from './scenarios.ts';

/** One line for each scenario and side: medians over the rounds. */
export function printTable(rounds: readonly Round[]): void {
  const rows = [['', '', 'CPU us', 'envoy', 'gateway', 'postgres', 'p50 ms', 'p99 ms', 'first ms', 'req/s']];
  for (const { name, events } of SCENARIOS) {
    for (const side of ['plain Envoy', 'gateway']) {
      const own = rounds.filter((round) => round.scenario === name && round.side === side);
      if (own.length === 0) continue;
      const cpu = (process: string): number => median(own.map((round) => round.cpuMicros[process] ?? 0));
      const total = median(own.map((round) => Object.values(round.cpuMicros).reduce((sum, part) => sum + part, 0)));
      const digits = events === undefined ? 0 : 1;
      const parts = ['envoy', 'gateway', 'postgres'].map((process) =>
        cpu(process) ? cpu(process).toFixed(digits) : '-',
      );
      rows.push([
        side === 'plain Envoy' ? `${name}${events === undefined ? '' : ' (CPU per event)'}` : '',
        side,
        total.toFixed(digits),
        ...parts,
        median(own.map((round) => round.latencyP50Ms)).toFixed(2),
        median(own.map((round) => round.latencyP99Ms)).toFixed(2),
        median(own.map((round) => round.firstByteP50Ms)).toFixed(2),
        median(own.map((round) => round.requestsPerSecond)).toFixed(0),
      ]);
    }
  }
  process.stdout.write(
    `CPU of all processes per request, medians; first ms: until the first byte of the answer\n\n${align(rows)}\n`,
  );
}

/** After all of the load. */
export function printMemory(bytes: Readonly<Record<string, number>>): void {
  const parts = Object.entries(bytes).map(([name, value]) => `${name} ${(value / 2 ** 20).toFixed(0)} MiB`);
  process.stdout.write(`\nResident after the load: ${parts.join(', ')}\n`);
}

function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

import { addsUp, kernelMicros, type Ledger, sumOf, totalMicros } from './ledger.ts';
import type { Round } from './round.ts';
import { table } from './table.ts';

const COLUMNS = ['process', 'threads', 'CPU us', 'user', 'kernel', 'share', 'wake-ups'];

/**
 * Prints the CPU ledgers of all scenarios and sides. Returns the names of those that do not add up.
 */
export function printLedgers(rounds: readonly Round[]): string[] {
  const wrong: string[] = [];
  process.stdout.write(
    '\nLedger: CPU of one request (of one stream) by groups of threads, means of all rounds; wake-ups: how often they waited\n',
  );
  for (const [name, own] of Map.groupBy(rounds, ({ scenario, side }) => `${scenario}, ${side}`)) {
    const ledger = sumOf(own.map((round) => round.ledger));
    const requests = own.reduce((sum, round) => sum + round.requests, 0);
    const sum = totalMicros(ledger);
    const share = ((100 * sum) / ledger.kernelsMicros).toFixed(1);
    process.stdout.write(`\n${name}: ${share} % of what the kernel counts\n${table(rowsOf(ledger, requests))}\n`);
    if (!addsUp(ledger)) wrong.push(name);
  }
  return wrong;
}

function rowsOf({ uses }: Ledger, requests: number): string[][] {
  const parts = uses.map((use) => ({ ...use, kernel: kernelMicros(use) }));
  const all = { process: 'all', group: '', micros: 0, kernel: 0, wakeUps: 0 };
  for (const { micros, kernel, wakeUps } of parts) {
    all.micros += micros;
    all.kernel += kernel;
    all.wakeUps += wakeUps;
  }
  const each = (value: number, digits = 0) => (value / requests).toFixed(digits);
  return [
    COLUMNS,
    ...[...parts, all].map(({ process, group, micros, kernel, wakeUps }) => [
      process,
      group,
      each(micros),
      each(micros - kernel),
      each(kernel),
      `${((100 * micros) / all.micros).toFixed(0)} %`,
      each(wakeUps, 2),
    ]),
  ];
}

import type { Figures } from './figures.ts';
import { SCENARIOS } from './scenarios.ts';
import { PLAIN } from './sides.ts';
import { table } from './table.ts';

const PROCESSES = ['envoy', 'gateway', 'postgres', 'redis'];
const COLUMNS = [
  'CPU us',
  'x plain',
  ...PROCESSES,
  'p50 ms',
  'p99 ms',
  'first ms',
  'first p99',
  'req/s',
  'faults',
  'load us',
];

/** One line for each scenario and side. */
export function printTable(figures: readonly Figures[]): void {
  const rows = [['', '', ...COLUMNS]];
  for (const { name, events } of SCENARIOS) {
    const own = figures.filter((one) => one.scenario === name);
    const digits = events === undefined ? 0 : 1;
    const plain = own.find(({ side }) => side === PLAIN);
    const title = events === undefined ? name : `${name} (CPU per event)`;
    for (const [index, one] of own.entries())
      rows.push([index === 0 ? title : '', one.side, ...cells(one, digits, plain)]);
  }
  process.stdout.write(
    'CPU of all processes per request; first ms: until the first byte of the answer; load us: CPU of load generator and provider, not counted\n\n' +
      `${table(rows)}\n`,
  );
}

function cells(one: Figures, digits: number, plain: Figures | undefined): string[] {
  return [
    one.totalCpuMicros.toFixed(digits),
    plain === undefined ? '-' : (one.totalCpuMicros / plain.totalCpuMicros).toFixed(2),
    ...PROCESSES.map((name) => one.cpuMicros[name]?.toFixed(digits) ?? '-'),
    one.latencyMs.p50.toFixed(1),
    one.latencyMs.p99.toFixed(1),
    one.firstByteMs.p50.toFixed(1),
    one.firstByteMs.p99.toFixed(1),
    one.requestsPerSecond.toFixed(0),
    Object.values(one.faults)
      .reduce((sum, count) => sum + count, 0)
      .toFixed(0),
    (one.loadMicros.generator + one.loadMicros.provider).toFixed(digits),
  ];
}

/** After each scenario, so that what many streams take stands beside what small requests take. */
export function printMemory(figures: readonly Figures[]): void {
  const rows = figures.map((one) => [
    one.scenario,
    one.side,
    ...['envoy', 'gateway'].map((name) => inMib(one.residentBytes[name])),
  ]);
  process.stdout.write(
    `\nResident in MiB when the rounds had ended\n\n${table([['', '', 'envoy', 'gateway'], ...rows])}\n`,
  );
}

function inMib(bytes: number | undefined): string {
  return bytes === undefined ? '-' : (bytes / 2 ** 20).toFixed(0);
}

export function printFaults(figures: readonly Figures[]): void {
  for (const { scenario, side, faults } of figures) {
    for (const [fault, count] of Object.entries(faults)) {
      process.stderr.write(`${scenario}, ${side}: ${count} x ${fault}\n`);
    }
  }
}

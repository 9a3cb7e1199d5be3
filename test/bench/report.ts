import type { Figures } from './figures.ts';
import { SCENARIOS } from './scenarios.ts';
import { GATEWAY, OTHERS, PLAIN } from './sides.ts';
import { table } from './table.ts';

const PROCESSES = ['envoy', 'gateway', 'postgres', 'redis'];
const COLUMNS = [
  'CPU us',
  'x plain',
  'x gateway',
  ...PROCESSES,
  'p50 ms',
  'added p50',
  'p99 ms',
  'first ms',
  'first p99',
  'req/s',
  'faults',
  'load us',
];

const LEGEND =
  "CPU of all processes per request, also as a multiple of plain Envoy's and of the gateway's with one process; " +
  "added p50: above plain Envoy's; first ms: until the first byte of the answer; " +
  'load us: CPU of load generator and provider, not counted';

/** One line for each scenario and side. */
export function printTable(figures: readonly Figures[]): void {
  const rows = [['', '', ...COLUMNS]];
  for (const { name, events } of SCENARIOS) {
    const own = figures.filter((one) => one.scenario === name);
    const digits = events === undefined ? 0 : 1;
    const baselines = [PLAIN, GATEWAY].map((name) => own.find(({ side }) => side === name));
    const title = events === undefined ? name : `${name} (CPU per event)`;
    for (const [index, one] of own.entries())
      rows.push([index === 0 ? title : '', one.side, ...cells(one, digits, baselines)]);
  }
  process.stdout.write(`${LEGEND}\n\n${table(rows)}\n`);
}

function cells(one: Figures, digits: number, baselines: readonly (Figures | undefined)[]): string[] {
  const [plain, gateway] = baselines;
  const times = (other: Figures | undefined) =>
    other === undefined ? '-' : (one.totalCpuMicros / other.totalCpuMicros).toFixed(2);
  return [
    one.totalCpuMicros.toFixed(digits),
    times(plain),
    OTHERS.includes(one.side) ? '-' : times(gateway),
    ...PROCESSES.map((name) => one.cpuMicros[name]?.toFixed(digits) ?? '-'),
    one.latencyMs.p50.toFixed(1),
    plain === undefined ? '-' : (one.latencyMs.p50 - plain.latencyMs.p50).toFixed(1),
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

/**
 * Prints the resident memory after each scenario, so that many streams can be compared with small
 * requests.
 */
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

import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { ReportedConfiguration } from '#database/process-reports/report.ts';
import type { BudgetRefusal, SharedBudget } from '../fairness/shared-budget.ts';

export interface ProcessMetrics {
  /** The configuration was read again: the file changed, or a reload was requested. */
  configurationRead(result: 'applied' | 'refused'): void;
  watchConfiguration(current: () => ReportedConfiguration): void;
  /** Registers the gauges of the budgets of memory, read at each scrape. */
  watchMemory(budgets: () => readonly MemoryBudget[]): void;
  /** A body or a response found no room in memory, or was evicted for another one. */
  memoryRefused(use: MemoryUse): (why: BudgetRefusal) => void;
  /** Registers the gauge of readiness, in the process that has the metrics address. */
  watchReadiness(notReady: () => Promise<string | undefined>): void;
  /**
   * Registers the end of the API's certificate, in the same process. `undefined`: there is none.
   */
  watchCertificate(expiresAtMs: () => Promise<number | undefined>): void;
}

export type MemoryUse = 'answers' | 'request_bodies';

export interface MemoryBudget {
  readonly use: MemoryUse;
  readonly held: Pick<SharedBudget, 'heldBytes' | 'limitBytes'>;
}

/**
 * Interval of the timer that measures event-loop lag, in ms. Each look wakes an idle process: 20 ms
 * was a third of its CPU.
 */
const LAG_LOOK_EVERY_MS = 50;

export function createProcessMetrics(registers: Registry[], version: string): ProcessMetrics {
  for (const register of registers)
    collectDefaultMetrics({ register, eventLoopMonitoringPrecision: LAG_LOOK_EVERY_MS });
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1. The labels have the release and the version of Node.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version, node_version: process.versions.node }, 1);
  const reads = new Counter({
    name: 'gateway_configuration_reads_total',
    help: 'Reloads of the configuration, by result: applied, refused.',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['applied', 'refused']) reads.inc({ result }, 0);
  const withoutMemory = new Counter({
    name: 'gateway_memory_refused_total',
    help: 'Request bodies and JSON responses refused for lack of memory, by reason: share (the organization has used its share), full (all memory is used), gave_way (evicted for another one).',
    labelNames: ['use', 'reason'],
    registers,
  });
  for (const use of ['answers', 'request_bodies'])
    for (const reason of ['share', 'full', 'gave_way']) withoutMemory.inc({ use, reason }, 0);
  return {
    memoryRefused: (use) => (reason) => withoutMemory.inc({ use, reason }),
    configurationRead: (result) => reads.inc({ result }),
    watchConfiguration: (current) => addConfigurationGauges(registers, current),
    watchMemory: (budgets) => addMemoryGauges(registers, budgets),
    watchReadiness(notReady) {
      new Gauge({
        name: 'gateway_ready',
        help: '1 if a request through Envoy would be served, as /ready reports. Checked at each scrape.',
        registers,
        async collect() {
          this.set((await notReady()) === undefined ? 1 : 0);
        },
      });
    },
    watchCertificate(expiresAtMs) {
      new Gauge({
        name: 'gateway_certificate_expiry_timestamp_seconds',
        help: 'When the certificate of the API expires, read from its file. Absent without TLS.',
        labelNames: ['listener'],
        registers,
        async collect() {
          this.reset();
          const ms = await expiresAtMs();
          if (ms !== undefined) this.set({ listener: 'api' }, ms / 1000);
        },
      });
    },
  };
}

function addConfigurationGauges(registers: Registry[], current: () => ReportedConfiguration): void {
  const gauges: readonly [name: string, help: string, value: (of: ReportedConfiguration) => number][] = [
    [
      'gateway_configuration_refused',
      '1 while the configuration file is refused and an older configuration is active.',
      ({ refused }) => (refused === null ? 0 : 1),
    ],
    [
      'gateway_configuration_loaded_timestamp_seconds',
      'When the active configuration was loaded.',
      ({ loadedAtMs }) => loadedAtMs / 1000,
    ],
    [
      'gateway_configuration_warnings',
      'Parts of the active configuration that cannot work: a missing secret, an unknown provider.',
      ({ warnings }) => warnings.length,
    ],
    [
      'gateway_configuration_restart_needed',
      'Changed fields of the file that need a restart.',
      ({ restartNeeded }) => restartNeeded.length,
    ],
  ];
  for (const [name, help, value] of gauges) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(current()));
      },
    });
  }
}

function addMemoryGauges(registers: Registry[], budgets: () => readonly MemoryBudget[]): void {
  new Gauge({
    name: 'gateway_memory_held_bytes',
    help: 'Memory used by request bodies (request_bodies) and JSON responses (answers). At the limit stalled and repeatable ones are evicted, first those of the organization that uses most.',
    labelNames: ['use'],
    registers,
    collect() {
      for (const { use, held } of budgets()) this.set({ use }, held.heldBytes);
    },
  });
  new Gauge({
    name: 'gateway_memory_limit_bytes',
    help: 'Limit of gateway_memory_held_bytes.',
    labelNames: ['use'],
    registers,
    collect() {
      for (const { use, held } of budgets()) this.set({ use }, held.limitBytes);
    },
  });
}

import { collectDefaultMetrics } from 'prom-client';
import type { ReportedConfiguration } from '#database/process-reports/report.ts';
import type { BudgetRefusal, SharedBudget } from '../fairness/shared-budget.ts';
import type { MetricSet } from './metric-set.ts';

const USES = ['answers', 'request_bodies'] as const;
export type MemoryUse = (typeof USES)[number];

export interface MemoryBudget {
  readonly use: MemoryUse;
  readonly held: Pick<SharedBudget, 'heldBytes' | 'limitBytes'>;
}

/** Interval of the event-loop lag timer, in ms. At 20 ms it took a third of the idle CPU. */
const LAG_LOOK_EVERY_MS = 50;

export function createProcessMetrics(metrics: MetricSet, version: string) {
  collectDefaultMetrics({ register: metrics.registry, eventLoopMonitoringPrecision: LAG_LOOK_EVERY_MS });
  metrics
    .gauge('gateway_build_info', 'Always 1. The labels have the release and the version of Node.', [
      'version',
      'node_version',
    ])
    .set({ version, node_version: process.versions.node }, 1);
  const reads = metrics.counter(
    'gateway_configuration_reads_total',
    'Reloads of the configuration, by result: applied, refused.',
    { result: ['applied', 'refused'] },
  );
  const withoutMemory = metrics.counter(
    'gateway_memory_refused_total',
    'Request bodies and JSON responses refused for lack of memory, by reason: share (the organization has used its share), full (all memory is used), gave_way (evicted for another one).',
    { use: USES, reason: ['share', 'full', 'gave_way'] },
  );
  return {
    /** A body or a response found no room in memory, or was evicted for another one. */
    memoryRefused: (use: MemoryUse) => (reason: BudgetRefusal) => withoutMemory.inc({ use, reason }),
    /** The configuration was read again: the file changed, or a reload was requested. */
    configurationRead: (result: 'applied' | 'refused') => reads.inc({ result }),
    watchConfiguration: (current: () => ReportedConfiguration) => addConfigurationGauges(metrics, current),
    watchMemory: (budgets: () => readonly MemoryBudget[]) => addMemoryGauges(metrics, budgets),
  };
}

function addConfigurationGauges(metrics: MetricSet, current: () => ReportedConfiguration): void {
  metrics.read(
    'gateway_configuration_refused',
    '1 while the configuration file is refused and an older configuration is active.',
    () => (current().refused === null ? 0 : 1),
  );
  metrics.read(
    'gateway_configuration_loaded_timestamp_seconds',
    'When the active configuration was loaded.',
    () => current().loadedAtMs / 1000,
  );
  metrics.read(
    'gateway_configuration_warnings',
    'Parts of the active configuration that cannot work: a missing secret, an unknown provider.',
    () => current().warnings.length,
  );
  metrics.read(
    'gateway_configuration_restart_needed',
    'Changed fields of the file that need a restart.',
    () => current().restartNeeded.length,
  );
}

function addMemoryGauges(metrics: MetricSet, budgets: () => readonly MemoryBudget[]): void {
  metrics.readSeries(
    'gateway_memory_held_bytes',
    'Memory used by request bodies (request_bodies) and JSON responses (answers). At the limit stalled and repeatable ones are evicted, first those of the organization that uses most.',
    ['use'],
    () => budgets().map(({ use, held }) => [{ use }, held.heldBytes]),
  );
  metrics.readSeries('gateway_memory_limit_bytes', 'Limit of gateway_memory_held_bytes.', ['use'], () =>
    budgets().map(({ use, held }) => [{ use }, held.limitBytes]),
  );
}

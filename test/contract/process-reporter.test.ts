import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { beforeAll, expect, it } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import { openProcessReports } from '#database/process-reports/process-reports.ts';
import type { ReportSources } from '#ext-proc/process/reports/process-report.ts';
import { watchActivity } from '#ext-proc/process/reports/process-report-activity.ts';
import { createMachineMeter } from '#ext-proc/process/reports/process-report-machine.ts';
import { startProcessReports } from '#ext-proc/process/reports/process-reporter.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { configWith } from '../fixtures/gateway-config.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { configurationWith } from '../fixtures/process-report.ts';
import { createDatabase, openStore, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { signalAll } from '../launchers/process-tree.ts';

/** A report takes milliseconds, but more on a busy machine. */
const SOON = { timeout: 20_000 };

/** A separate server, because this test kills it. */
const server = opened(() => startTestPostgres({ fsync: 'off' }));
let url = '';

beforeAll(async () => {
  url = await createDatabase(server.socketDir);
  await (await openStore(url)).close();
});

interface Line {
  readonly level: number;
  readonly msg: string;
}

function startReporter(id: string, lines: Line[], timeouts = PATIENT) {
  const log = pino({ base: null }, { write: (text: string) => void lines.push(JSON.parse(text)) });
  const configuration = configurationWith();
  const sources: ReportSources = {
    clock,
    gatewayVersion: '0.1.0',
    machine: createMachineMeter(clock),
    activity: watchActivity(createMetrics(), clock).activity,
    config: () => configWith(),
    configuration: () => configuration,
    waitingCharges: () => [],
    liveHolds: () => [],
    restingTargets: () => new Map(),
    notReady: async () => undefined,
  };
  const process = { id, host: 'here', worker: 0, pid: 1, startedAtMs: 1_000 };
  return startProcessReports({ process, reports: openProcessReports(url, log, timeouts), sources, log, everyMs: 50 });
}

const reportedIds = async () =>
  (await sql<{ id: string }>(url, 'select id from gateway_processes')).map((row) => row.id);
const lastReport = async () =>
  (await sql<{ at: string }>(url, 'select max(reported_at)::text as at from gateway_processes'))[0]?.at;

it('reports periodically, again after a crash of the server that lost its row, and logs each change once', async () => {
  const id = randomUUID();
  const lines: Line[] = [];
  const reporter = startReporter(id, lines);
  await expect.poll(reportedIds, SOON).toEqual([id]);
  const first = await lastReport();
  await expect.poll(lastReport, SOON).not.toBe(first);

  await server.crash();
  const complaints = () => lines.filter(({ msg }) => msg === 'the process could not report; it goes on trying').length;
  await expect.poll(complaints, SOON).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await server.restart();
  await expect.poll(reportedIds, SOON).toEqual([id]);
  await expect.poll(() => lines.at(-1)?.msg, SOON).toBe('the process reports again');
  expect(complaints()).toBe(1);

  await reporter.close();
  expect(await reportedIds()).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(await reportedIds()).toEqual([]);
});

it('deletes the rows of processes that ended without deleting them', async () => {
  const forgotten = randomUUID();
  const closing: Line[] = [];
  const former = startReporter(forgotten, closing);
  await expect.poll(reportedIds, SOON).toEqual([forgotten]);
  await former.close();
  const row = `('${forgotten}', 'here', 0, 1, now(), now() - interval '61 minutes', '{}', '{}', now())`;
  await sql(url, `insert into gateway_processes values ${row}`);
  const id = randomUUID();
  const reporter = startReporter(id, closing);
  await expect.poll(reportedIds, SOON).toEqual([id]);
  await reporter.close();
});

it('closes in time while PostgreSQL is frozen', async () => {
  const reporter = startReporter(randomUUID(), [], { connectMs: 1_000, statementMs: 1_000 });
  await expect.poll(reportedIds, SOON).toHaveLength(1);
  const frozen = server.processes();
  signalAll(frozen, 'SIGSTOP');
  try {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const beganMs = performance.now();
    await reporter.close();
    expect(performance.now() - beganMs).toBeLessThan(20_000);
  } finally {
    signalAll(frozen, 'SIGCONT');
  }
});

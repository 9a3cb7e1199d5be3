import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import {
  currentConfiguration,
  heldNow,
  listProcesses,
  openProcessReports,
  type ProcessReports,
} from '#database/process-reports/process-reports.ts';
import type { ReportingProcess } from '#database/process-reports/report.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { configurationWith, holdsOf, reportWith } from '../fixtures/process-report.ts';
import { createDatabase, SILENT, sql } from '../harness/database.ts';

const STARTED_MS = 1_795_000_000_123;

describe('process reports', () => {
  let url = '';
  let reports: ProcessReports;
  let pool: ReturnType<typeof createPool>;
  beforeEach(async () => {
    url = await createDatabase();
    reports = openProcessReports(url, SILENT, PATIENT);
    pool = createPool(url, 1, PATIENT, SILENT);
  });
  afterEach(async () => {
    await Promise.all([reports.close(), pool.end()]);
  });

  function processWith(changes: Partial<ReportingProcess> = {}): ReportingProcess {
    return { id: randomUUID(), host: 'here', worker: 0, pid: 4711, startedAtMs: STARTED_MS, ...changes };
  }

  const age = (id: string, ms: number) =>
    sql(url, `update gateway_processes set reported_at = now() - interval '${ms} milliseconds' where id = '${id}'`);

  it('are read as they were written, the newest of each process, with any text of an operator', async () => {
    const process = processWith();
    const configuration = configurationWith({ path: 'a\0b\ud800c "\\u0000" é' });
    await reports.write(process, reportWith(), configuration);
    const newer = reportWith({ notReady: 'draining', cpuFraction: 0.5 });
    await reports.write(process, newer, configuration);
    const [read, ...others] = await listProcesses(pool);
    expect(others).toEqual([]);
    expect(read).toEqual({
      ...process,
      report: newer,
      configurationLoadedAtMs: configuration.loadedAtMs,
      reportedAtMs: expect.any(Number),
      ageMs: expect.any(Number),
    });
    expect(read?.ageMs).toBeLessThan(60_000);
    expect(await currentConfiguration(pool)).toEqual({ ...configuration, path: 'a\ufffdb\ufffdc "\\u0000" é' });
    await reports.remove(process.id);
    expect(await listProcesses(pool)).toEqual([]);
    expect(await currentConfiguration(pool)).toBeUndefined();
  });

  it('write the configuration only when it has changed, or when their row was deleted', async () => {
    const process = processWith();
    const first = configurationWith();
    await reports.write(process, reportWith(), first);
    await sql(url, `update gateway_processes set configuration = '{"mark": true}'`);
    await reports.write(process, reportWith(), first);
    expect(await currentConfiguration(pool)).toEqual({ mark: true, priceLists: {} });
    const second = configurationWith({ fingerprint: 'another', loadedAtMs: first.loadedAtMs + 1 });
    await reports.write(process, reportWith(), second);
    expect(await currentConfiguration(pool)).toEqual(second);
    await sql(url, 'delete from gateway_processes');
    await reports.write(process, reportWith(), second);
    expect(await currentConfiguration(pool)).toEqual(second);
    expect((await listProcesses(pool)).map(({ id }) => id)).toEqual([process.id]);
  });

  it('of a process whose clock was ahead have no times of the future', async () => {
    const aheadMs = Date.now() + DAY_MS;
    const configuration = configurationWith({ loadedAtMs: aheadMs });
    await reports.write(processWith({ startedAtMs: aheadMs }), reportWith(), configuration);
    const [read] = await listProcesses(pool);
    expect([read?.startedAtMs, read?.configurationLoadedAtMs]).toEqual([read?.reportedAtMs, read?.reportedAtMs]);
  });

  it('return only the requested price list', async () => {
    const list = { models: {}, others: { percentParts: -100_000 } };
    const priceLists = { partner: list, other: list };
    await reports.write(processWith(), reportWith(), configurationWith({ priceLists }));
    expect((await currentConfiguration(pool))?.priceLists).toEqual({});
    expect((await currentConfiguration(pool, 'partner'))?.priceLists).toEqual({ partner: list });
    expect((await currentConfiguration(pool, 'unknown'))?.priceLists).toEqual({});
  });

  it('prefer the configuration of a live process, and then the one that was loaded last', async () => {
    const loaded = (loadedAtMs: number) => configurationWith({ loadedAtMs, fingerprint: `of ${loadedAtMs}` });
    const [gone, old, fresh] = [processWith(), processWith(), processWith()];
    await reports.write(gone, reportWith(), loaded(3_000));
    await reports.write(old, reportWith(), loaded(1_000));
    await reports.write(fresh, reportWith(), loaded(2_000));
    await age(gone.id, 11_000);
    expect((await currentConfiguration(pool))?.fingerprint).toBe('of 2000');
    await age(old.id, 11_000);
    await age(fresh.id, 11_000);
    expect((await currentConfiguration(pool))?.fingerprint).toBe('of 3000');
  });

  it('sum the holds of an organization, without processes that are gone', async () => {
    const large = String(2n ** 53n + 1n);
    const [one, two, gone] = [processWith(), processWith(), processWith()];
    const held = (organizations: Parameters<typeof holdsOf>[0]) => reportWith({ holds: holdsOf(organizations) });
    await reports.write(one, held({ 'org-1': [large, 2], 'org-2': ['7', 1] }), configurationWith());
    await reports.write(two, held({ 'org-1': ['5', 1] }), configurationWith());
    await reports.write(gone, held({ 'org-1': ['1000', 9] }), configurationWith());
    await age(gone.id, 11_000);
    expect(await heldNow(pool, 'org-1')).toBe(BigInt(large) + 5n);
    expect(await heldNow(pool, 'org-2')).toBe(7n);
    expect(await heldNow(pool, 'org-3')).toBe(0n);
  });

  it('of processes are deleted after they have been gone for an hour', async () => {
    const [gone, late, fresh] = [processWith({ worker: 0 }), processWith({ worker: 1 }), processWith({ worker: 2 })];
    for (const process of [gone, late, fresh]) await reports.write(process, reportWith(), configurationWith());
    await age(gone.id, 3_601_000);
    await age(late.id, 3_590_000);
    await reports.removeForgotten();
    expect((await listProcesses(pool)).map(({ id }) => id)).toEqual([late.id, fresh.id]);
  });

  it('are in an unlogged table, so that they do not wait for the disk', async () => {
    await reports.write(processWith(), reportWith(), configurationWith());
    const [row] = await sql<{ relpersistence: string }>(
      url,
      "select relpersistence from pg_class where relname = 'gateway_processes'",
    );
    expect(row?.relpersistence).toBe('u');
  });
});

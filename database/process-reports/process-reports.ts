import type pg from 'pg';
import { DAY_MS } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { createPool, only, run, type StoreLog, sql, type Timeouts } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import {
  type ProcessReport,
  REPORT_FRESH_MS,
  type ReportedConfiguration,
  type ReportedPriceList,
  type ReportedProcess,
  type ReportingProcess,
} from './report.ts';

/** Shorter than the time between two reports, so that a report that hangs delays only the next. */
const TIMEOUTS: Timeouts = { connectMs: 1_000, statementMs: 1_000 };
/** Age at which rows are deleted. Until then the dashboard shows that the process is gone. */
const FORGOTTEN_AFTER_MS = DAY_MS / 24;

export type ProcessReports = ReturnType<typeof openProcessReports>;

/** Opens a connection of its own, so that reports and requests never wait for each other. */
export function openProcessReports(url: string, log: StoreLog, timeouts = TIMEOUTS) {
  const pool = createPool(url, 1, timeouts, log, { synchronousCommit: 'off' });
  let written: ReportedConfiguration | undefined;
  return {
    /** Writes the row, and a configuration that is a new object. Rejects with StoreUnavailable. */
    write: async (process: ReportingProcess, report: ProcessReport, configuration: ReportedConfiguration) => {
      const values = [process.id, json(report)];
      const same = configuration === written;
      const [row] = same ? await run(pool, UPDATE, values) : [];
      // The row is missing if it was deleted for its age, or if the server crashed: the table is
      // unlogged.
      if (row === undefined)
        await run(pool, UPSERT, [
          ...values,
          ...[process.host, process.worker, process.pid, process.startedAtMs],
          ...[json(configuration), configuration.loadedAtMs],
        ]);
      written = configuration;
    },
    remove: async (processId: string) => {
      await run(pool, REMOVE, [processId]);
    },
    /** Removes rows of processes that have not reported for an hour. */
    removeForgotten: async () => {
      await run(pool, REMOVE_FORGOTTEN, [FORGOTTEN_AFTER_MS]);
    },
    close: () => pool.end(),
  };
}

/** Encodes JSON without NUL and lone surrogates (of a configuration), which jsonb refuses. */
function json(value: object): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replaceAll('\0', '\ufffd').toWellFormed() : part,
  );
}

/** Lists processes that reported within the last hour, ordered by host and worker. */
export async function listProcesses(pool: pg.Pool | pg.Client): Promise<ReportedProcess[]> {
  return run<ReportedProcess>(pool, LIST, []);
}

/**
 * Reads the configuration that was loaded last, preferably from a process that still reports. Of
 * its price lists only `priceList` is included, because all together may be megabytes.
 */
export async function currentConfiguration(
  pool: pg.Pool | pg.Client,
  priceList?: string,
): Promise<ReportedConfiguration | undefined> {
  const [row] = await run<ConfigurationRow>(pool, CURRENT_CONFIGURATION, [REPORT_FRESH_MS, priceList ?? null]);
  if (row === undefined) return undefined;
  const lists = priceList === undefined || row.list === null ? {} : { [priceList]: row.list };
  return { ...row.configuration, priceLists: lists };
}

interface ConfigurationRow {
  readonly configuration: Omit<ReportedConfiguration, 'priceLists'>;
  readonly list: ReportedPriceList | null;
}

/** Reads the sum of reported holds, up to two seconds old. */
export async function heldNow(pool: pg.Pool, organizationId: string): Promise<NanoUsd> {
  return BigInt((await only<{ held: string }>(pool, HELD, [organizationId, REPORT_FRESH_MS])).held);
}

const UPDATE = sql('report_process')`
  update gateway_processes set reported_at = now(), report = $2 where id = $1 returning 1`;

const UPSERT = sql('introduce_process')`
  insert into gateway_processes
      (id, host, worker, pid, started_at, reported_at, report, configuration, configuration_loaded_at)
    values ($1, $3, $4, $5, least(now(), to_timestamp($6::float8 / 1000)), now(), $2, $7, least(now(), to_timestamp($8::float8 / 1000)))
    on conflict (id) do update set reported_at = excluded.reported_at, report = excluded.report,
      configuration = excluded.configuration, configuration_loaded_at = excluded.configuration_loaded_at`;

const REMOVE = sql('remove_process')`delete from gateway_processes where id = $1`;

const REMOVE_FORGOTTEN = sql('remove_forgotten_processes')`
  delete from gateway_processes where reported_at < now() - $1::float8 * interval '1 millisecond'`;

const LIST = sql('list_processes')`
  select id, host, worker, pid, ${milliseconds('started_at')} as "startedAtMs", ${milliseconds('reported_at')} as "reportedAtMs",
      greatest(0, extract(epoch from now() - reported_at) * 1000)::float8 as "ageMs", report,
      ${milliseconds('configuration_loaded_at')} as "configurationLoadedAtMs"
    from gateway_processes order by host, worker, started_at desc`;

const CURRENT_CONFIGURATION = sql('current_configuration')`
  select configuration - 'priceLists' as configuration, configuration -> 'priceLists' -> $2::text as list
    from gateway_processes
    order by reported_at > now() - $1::float8 * interval '1 millisecond' desc, configuration_loaded_at desc limit 1`;

const HELD = sql('held_now')`
  select coalesce(sum((held ->> 0)::bigint), 0)::text as held
    from (select report -> 'holds' -> 'organizations' -> $1::text as held from gateway_processes
      where reported_at > now() - $2::float8 * interval '1 millisecond') as fresh`;

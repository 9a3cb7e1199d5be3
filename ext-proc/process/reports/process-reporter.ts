import type { Log } from '#core/log/log.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ProcessReports } from '#database/process-reports/process-reports.ts';
import type { ReportingProcess } from '#database/process-reports/report.ts';
import { gatherReport, type ReportSources } from './process-report.ts';

export interface ReporterOptions {
  readonly process: ReportingProcess;
  readonly reports: ProcessReports;
  readonly sources: ReportSources;
  readonly log: Log;
  readonly everyMs?: number;
}

const EVERY_MS = 2_000;
const FORGET_EVERY_MS = 60_000;

/** Reports at once and every 2 s, one at a time. The next report replaces a failed one. */
export function startProcessReports(options: ReporterOptions) {
  const { reports, sources, log, everyMs = EVERY_MS } = options;
  const { clock, machine } = sources;
  const stopping = new AbortController();
  let startedMs = 0;
  let failing = false;
  let forgottenAtMs = Number.NEGATIVE_INFINITY;
  const stopReporting = keepDoing(() => Math.max(0, startedMs + everyMs - clock.monotonicMs()), report, noteFailure);

  async function report(): Promise<void> {
    startedMs = clock.monotonicMs();
    await writeOne(startedMs);
    if (failing) log.info({}, 'the process reports again');
    failing = false;
  }

  /** Every report fails alike while PostgreSQL is unavailable, so only the first is logged. */
  function noteFailure(error: unknown): void {
    const why = error instanceof StoreUnavailable ? { error: error.message } : { err: error };
    if (!failing) log.warn(why, 'the process could not report; it goes on trying');
    failing = true;
  }

  async function writeOne(nowMs: number): Promise<void> {
    const gathered = await gatherReport(sources, stopping.signal);
    if (stopping.signal.aborted) return;
    await reports.write(options.process, gathered, sources.configuration());
    if (nowMs < forgottenAtMs + FORGET_EVERY_MS) return;
    forgottenAtMs = nowMs;
    await reports.removeForgotten();
  }

  return {
    /** Deletes the row: the process ends cleanly. */
    async close(): Promise<void> {
      stopping.abort();
      await stopReporting();
      machine.close();
      try {
        // While PostgreSQL is unavailable the row stays; readers ignore it after some time.
        if (!failing) await reports.remove(options.process.id);
      } catch (error) {
        log.warn({ err: error }, "the process's report could not be taken away");
      }
      await reports.close();
    },
  };
}

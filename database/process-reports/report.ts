import type { Problem } from '#core/config/problem.ts';
import type { NanoUsd } from '#core/money.ts';
import type { PercentChange } from '#core/price-list.ts';
import type { ScheduleJson } from '#core/price-schedule-json.ts';
import type { PricesJson, TableJson } from '#core/price-table-text.ts';

/**
 * State that gateway processes report every two seconds, for the dashboard: plain JSON, as stored
 * in `gateway_processes`. No decision depends on it.
 */
export interface ProcessReports {
  /**
   * Writes the process's row; the configuration only when it is another object than last time.
   * Rejects with StoreUnavailable.
   */
  write(process: ReportingProcess, report: ProcessReport, configuration: ReportedConfiguration): Promise<void>;
  /** The process ends. */
  remove(processId: string): Promise<void>;
  /** Rows of processes that have not reported for an hour. */
  removeForgotten(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A process whose last report is older has ended, or cannot reach PostgreSQL: its holds expire
 * soon.
 */
export const REPORT_FRESH_MS = 10_000;

export interface ReportingProcess {
  /** A UUID, new at every start. */
  readonly id: string;
  readonly host: string;
  /** Its index among the gateway processes of its host; 0 speaks for Envoy. */
  readonly worker: number;
  readonly pid: number;
  readonly startedAtMs: number;
}

/** Rates and lag cover the time since the report before. */
export interface ProcessReport {
  readonly gatewayVersion: string;
  /**
   * Fingerprint of the active configuration: processes with the same one have the same models and
   * providers.
   */
  readonly configurationFingerprint: string;
  /** Why a request through Envoy would not be served now; null when it would. */
  readonly notReady: string | null;
  readonly overMs: number;
  /** Readiness probes are left out. */
  readonly requests: {
    readonly inFlight: number;
    readonly ended: number;
    /**
     * Failures of the gateway or a provider among ended requests, broken streams too; no refusals.
     */
    readonly failed: number;
  };
  readonly eventLoopLagMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly rssBytes: number;
  readonly heapUsedBytes: number;
  /**
   * Fraction of one core; above 1 if other threads (token counting, garbage collection) work too.
   */
  readonly cpuFraction: number;
  readonly spool: { readonly charges: number; readonly bytes: number };
  readonly holds: ReportedHolds;
  /** Null while the process keeps no request log. `dropped` counts from the process's start. */
  readonly requestLog: { readonly waiting: number; readonly dropped: number } | null;
  /** Null where another process of the host asks Envoy. */
  readonly envoy: ReportedEnvoy | null;
  /**
   * By provider name: every provider of the configuration, and those of former ones that were asked
   * in the last five minutes.
   */
  readonly providers: Readonly<Record<string, ProviderHealth>>;
  /**
   * By model: a service tier that a response named in the last hour and that no table of prices or
   * costs has.
   */
  readonly unknownTiers: Readonly<Record<string, string>>;
}

export interface ReportedHolds {
  /** Decimal text of an integer. */
  readonly totalNanoUsd: string;
  readonly count: number;
  /**
   * By organization id; the largest ones if there are more than fit (`leftOut` organizations are
   * not among them).
   */
  readonly organizations: Readonly<Record<string, readonly [heldNanoUsd: string, count: number]>>;
  readonly leftOut: number;
}

export type ReportedEnvoy =
  | { readonly reachable: false }
  | {
      readonly reachable: true;
      /** `1.39.3` */
      readonly version: string;
      /** `LIVE`, `DRAINING`, `PRE_INITIALIZING`, `INITIALIZING` */
      readonly state: string;
      readonly uptimeMs: number;
    };

/** As this process has met it in the last five minutes. */
export interface ProviderHealth {
  readonly attempts: number;
  /**
   * Failures that are the provider's fault: not a client that left, nor a request that the provider
   * was right to reject.
   */
  readonly failures: number;
  /** The last of these failures: one of a bounded set of words, never the provider's own. */
  readonly lastFailure: {
    readonly result: string;
    readonly atMs: number;
    /** Present: it was about the operator's own account at the provider. */
    readonly account?: 'credentials' | 'funds';
  } | null;
  /**
   * True while Envoy ejects it after failures in a row. Null if this process does not ask Envoy, or
   * got no reply.
   */
  readonly ejected: boolean | null;
  /** Targets that this process passes over for now. */
  readonly restingTargets: number;
}

/** The configuration in force in that process, without secrets. */
export interface ReportedConfiguration {
  /** Over models, price lists and providers. */
  readonly fingerprint: string;
  readonly path: string;
  readonly loadedAtMs: number;
  readonly models: readonly ReportedModel[];
  /** By name. */
  readonly priceLists: Readonly<Record<string, ReportedPriceList>>;
  readonly providers: readonly ReportedProvider[];
  /** Well formed, but it cannot work. */
  readonly warnings: readonly Problem[];
  /**
   * Present if the current file was refused; the configuration before it is still in force. Null:
   * the file is in force.
   */
  readonly refused: { readonly atMs: number; readonly problems: readonly Problem[] } | null;
  /** Fields that were changed in the file, and stay as they were until a restart. */
  readonly restartNeeded: readonly string[];
}

export interface ReportedPrices {
  /** Pico-dollars per token (USD per million tokens x 1e6), decimal text of integers. */
  readonly prices: PricesJson;
  readonly above: TableJson['above'];
  readonly serviceTiers: TableJson['serviceTiers'];
  /** Present: the table in force depends on the time, and the one above is the first. */
  readonly schedule?: ScheduleJson;
}

export interface ReportedPriceList {
  readonly others?: PercentChange;
  readonly models: Readonly<Record<string, PercentChange | ReportedPrices>>;
}

export interface ReportedModel extends ReportedPrices {
  readonly id: string;
  readonly capabilities: readonly string[];
  readonly reasoningEfforts: readonly string[];
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly defaultOutputTokens: number;
  /** Absent in reports of an earlier gateway. */
  readonly takesTemperature?: boolean;
  readonly disabled: boolean;
  /** Why it answers `upstream_config_error`; for operators, not for customers. */
  readonly problem: string | null;
  /** Usable targets, in the order in which they are tried; none exactly when there is a problem. */
  readonly targets: readonly { readonly provider: string; readonly model: string }[];
}

export interface ReportedProvider {
  readonly name: string;
  /** Host, and port where it is not the scheme's own, of its base URL. */
  readonly host: string;
  readonly scheme: 'http' | 'https';
  readonly hasKey: boolean;
  /** Null: it depends on the model. */
  readonly onDisconnect: 'abort' | 'drain' | null;
}

/** A row as it is read again. */
export interface ReportedProcess extends ReportingProcess {
  readonly reportedAtMs: number;
  /** By the database's clock, like `reportedAtMs`. */
  readonly ageMs: number;
  readonly report: ProcessReport;
  readonly configurationLoadedAtMs: number;
}

/** Holds of all reporting processes against one organization's balance. */
export interface HeldNow {
  readonly heldNanoUsd: NanoUsd;
  readonly holds: number;
}

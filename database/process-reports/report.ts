import type { Model } from '#core/config/gateway-config.ts';
import type { Failure, Problem } from '#core/config/problem.ts';
import type { PercentChange } from '#core/price-list.ts';
import type { ScheduleJson } from '#core/price-schedule-json.ts';
import type { PricesJson, TableJson } from '#core/price-table-text.ts';
import type { ProcessFigures } from '#core/process-figures.ts';

/**
 * Reported by gateway processes every 2 s, as JSON in `gateway_processes`. No decision uses it.
 * From 0.2.0 on the previous release reports there too: rename no member, let new ones be absent.
 */

/** A process without a report for this long has ended or lost PostgreSQL. Holds expire soon. */
export const REPORT_FRESH_MS = 10_000;

export interface ReportingProcess {
  /** A UUID, new at every start. */
  readonly id: string;
  readonly host: string;
  /** Index among the gateway processes of its host. Process 0 reports on Envoy. */
  readonly worker: number;
  readonly pid: number;
  readonly startedAtMs: number;
}

export interface ProcessReport extends ProcessFigures {
  /** By the process's own clock. Absent in reports of former releases. */
  readonly atMs?: number;
  /** Fingerprint of the active configuration. Equal ones have the same models and providers. */
  readonly configurationFingerprint: string;
  readonly holds: ReportedHolds;
  /** By provider name: all configured ones, and former ones called in the last five minutes. */
  readonly providers: Readonly<Record<string, ProviderHealth>>;
  /** By model: a service tier of responses in the last hour that has neither prices nor costs. */
  readonly unknownTiers: Readonly<Record<string, string>>;
}

export type ReportedHolds = ProcessFigures['holds'] & {
  /** By organization id, only the largest if there are too many. `leftOut` counts the others. */
  readonly organizations: Readonly<Record<string, readonly [heldNanoUsd: string, count: number]>>;
  readonly leftOut: number;
};

/** What this process has seen of the provider in the last five minutes. */
export interface ProviderHealth {
  readonly attempts: number;
  /** Failures that are the provider's fault, without clients that left and rightful refusals. */
  readonly failures: number;
  /** The last of these failures, as one of a fixed set of words instead of the provider's own. */
  readonly lastFailure: {
    readonly result: string;
    readonly atMs: number;
    /** Present if the failure concerned the operator's account at the provider. */
    readonly account?: 'credentials' | 'funds';
  } | null;
  /** True while Envoy ejects the provider. Null: no reply, or this process does not query Envoy. */
  readonly ejected: boolean | null;
  /** Servers to which Envoy sends nothing, with the reason. Absent: none is known. */
  readonly serversOut?: readonly string[];
  readonly restingTargets: number;
}

/** The configuration in force in the process, without secrets. */
export interface ReportedConfiguration {
  /** Fingerprint of models, price lists and providers. */
  readonly fingerprint: string;
  readonly path: string;
  readonly loadedAtMs: number;
  readonly models: readonly ReportedModel[];
  /** By name. */
  readonly priceLists: Readonly<Record<string, ReportedPriceList>>;
  readonly providers: readonly ReportedProvider[];
  /** Parts that are well formed but cannot work. */
  readonly warnings: readonly Problem[];
  /**
   * Present if the current file was refused, so the previous configuration is still in force. Null:
   * the file is in force.
   */
  readonly refused: { readonly atMs: number; readonly problems: readonly Failure[] } | null;
  /** Fields that were changed in the file, but take effect only after a restart. */
  readonly restartNeeded: readonly string[];
}

export interface ReportedPrices {
  /** Pico-dollars per token (USD per million tokens x 1e6), as decimal text of integers. */
  readonly prices: PricesJson;
  readonly above: TableJson['above'];
  readonly serviceTiers: TableJson['serviceTiers'];
  /** Present if prices depend on the time. The prices above are then the first table. */
  readonly schedule?: ScheduleJson;
}

export interface ReportedPriceList {
  readonly others?: PercentChange;
  readonly models: Readonly<Record<string, PercentChange | ReportedPrices>>;
}

type Limits = 'reasoningEfforts' | 'contextWindow' | 'maxOutputTokens' | 'defaultOutputTokens';

export interface ReportedModel extends ReportedPrices, Pick<Model, 'id' | 'disabled' | Limits> {
  readonly capabilities: readonly string[];
  /** Absent in reports of former releases. */
  readonly takesTemperature?: boolean;
  /** Reason for `upstream_config_error`. For operators, not for customers. */
  readonly problem: string | null;
  /** Usable targets in the order of attempts. Empty if and only if there is a problem. */
  readonly targets: readonly { readonly provider: string; readonly model: string; readonly weight?: number }[];
}

export interface ReportedProvider {
  readonly name: string;
  /** Host of the base URL, with its port if that is not the scheme's default. */
  readonly host: string;
  readonly scheme: 'http' | 'https';
  readonly hasKey: boolean;
  /** Null: it depends on the model. */
  readonly onDisconnect: 'abort' | 'drain' | null;
}

/** A row of `gateway_processes`. */
export interface ReportedProcess extends ReportingProcess {
  readonly reportedAtMs: number;
  /** Age by the database's clock, like `reportedAtMs`. */
  readonly ageMs: number;
  readonly report: ProcessReport;
  readonly configurationLoadedAtMs: number;
}

export function isFresh({ ageMs }: ReportedProcess): boolean {
  return ageMs <= REPORT_FRESH_MS;
}

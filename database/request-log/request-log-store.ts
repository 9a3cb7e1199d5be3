import type { NanoUsd } from '#core/money.ts';
import type { LoggedUsage } from '#core/pricing.ts';

/**
 * The request log, for people to read. No charge depends on it, and it may lose rows
 * (database/schema/tables.sql).
 */
export interface RequestLogStore {
  /**
   * Writes a batch with its sums, each row once: repeating a batch changes nothing. Resolves to the
   * number of rows that the store will never take. Rejects when the result is unknown or nothing
   * could be written now; then the batch is to be written again, unchanged.
   */
  write(batch: readonly RequestLogRow[]): Promise<{ readonly refused: number }>;
  /** Makes partitions ahead and drops old ones, until closed. */
  keepTidy(retentionMs: () => number): void;
  close(): Promise<void>;
}

/** Counts of refused requests that have no row (ext-proc/requests/log/refused-quota.ts). */
export interface OmittedRequestsStore {
  /** Replaces the stored counts, which only increase. Rejects if the result is unknown. */
  write(counts: readonly OmittedRequests[]): Promise<void>;
}

/**
 * Requests of a key that were refused alike in a minute, as one process has counted them so far.
 */
export interface OmittedRequests {
  readonly organizationId: string;
  readonly keyId: string;
  /** Since 1970, UTC. */
  readonly minute: number;
  /** Empty: no model of the configuration. */
  readonly model: string;
  /** Error code; empty: the client left before there was a response. */
  readonly code: string;
  readonly status: number;
  readonly requests: number;
  /** Time of the last of them. */
  readonly lastAtMs: number;
  readonly address: string;
}

/**
 * One request of a key that exists, served or refused. The maker bounds its text, the store cleans
 * it.
 */
export interface RequestLogRow {
  /** `log-`, of the time of arrival. */
  readonly id: string;
  readonly arrivedAtMs: number;
  readonly organizationId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly generationId: string | undefined;
  readonly route: string;
  /** Model as the client named it. */
  readonly model: string | undefined;
  /** True if the model is configured: clients cannot invent groups of sums. */
  readonly modelKnown: boolean;
  /** Provider of the response, or of the last attempt. */
  readonly provider: string | undefined;
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly status: number;
  /** Error code. */
  readonly code: string | undefined;
  readonly streamed: boolean;
  readonly replayed: boolean;
  readonly clientGone: boolean;
  readonly usage: LoggedUsage | undefined;
  readonly costNanoUsd: NanoUsd | undefined;
  /** What the provider is paid, if its costs are configured. */
  readonly providerCostNanoUsd: NanoUsd | undefined;
  readonly firstEventMs: number | undefined;
  readonly durationMs: number;
  /** `user` of the request, as the client named it. */
  readonly user: string | undefined;
  /** `metadata` of the request, as JSON. */
  readonly metadata: string | undefined;
}

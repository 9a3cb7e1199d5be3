import type { NanoUsd } from '#core/money.ts';
import type { LoggedUsage } from '#core/pricing.ts';

/** Requests of a key refused for one reason in a minute, as one process has counted so far. */
export interface OmittedRequests {
  readonly organizationId: string;
  readonly keyId: string;
  /** Number of the minute since 1970, UTC. */
  readonly minute: number;
  /** Empty: the model is not configured. */
  readonly model: string;
  /** Error code. Empty: the client left before the response. */
  readonly code: string;
  readonly status: number;
  readonly requests: number;
  readonly lastAtMs: number;
  readonly address: string;
}

/** A request with an existing key. Its creator bounds the texts, and the store cleans them. */
export interface RequestLogRow {
  /** Id with the prefix `log-`. It contains the time of arrival. */
  readonly id: string;
  readonly arrivedAtMs: number;
  readonly organizationId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly generationId: string | undefined;
  readonly route: string;
  /** Model as the client named it. */
  readonly model: string | undefined;
  /** True if the model is configured. Others have no name in sums: clients choose it. */
  readonly modelKnown: boolean;
  /** Provider of the response, or of the last attempt. */
  readonly provider: string | undefined;
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly status: number;
  readonly code: string | undefined;
  readonly streamed: boolean;
  readonly replayed: boolean;
  readonly clientGone: boolean;
  readonly usage: LoggedUsage | undefined;
  readonly costNanoUsd: NanoUsd | undefined;
  /** Cost at the provider, if configured. */
  readonly providerCostNanoUsd: NanoUsd | undefined;
  readonly firstEventMs: number | undefined;
  readonly durationMs: number;
  /** The request's `user`, by which the client names its end user. */
  readonly user: string | undefined;
  /** `metadata` of the request, as JSON. */
  readonly metadata: string | undefined;
}

import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AccountSnapshot, KeyLimits, RateLimits } from '#core/principal.ts';

/** Time for the charge of a request that ended at `timeouts.total`. */
const CHARGED_WITHIN_MS = 60_000;

/** End of a quarantine, in ms since the admission. No request lives for longer. */
export function quarantineMs({ totalTimeoutMs }: Pick<Hold, 'totalTimeoutMs'>): number {
  return totalTimeoutMs + CHARGED_WITHIN_MS;
}

/**
 * Contract of both limit stores: windows, concurrency slots and holds. An admission is one atomic
 * call. Either all rules pass and everything is taken, or the first failing rule in the documented
 * order is the result and nothing is taken. Methods reject with StoreUnavailable.
 *
 * A hold whose lease expires loses its slot and goes into quarantine (docs/design.md, "Holds are
 * leases"). Quarantine ends with a release, a renewal, or `quarantineMs` after the admission. A
 * lease that expires later than that belongs to a hold whose charge waits for PostgreSQL. Its
 * quarantine ends `quarantineMs` after the expiry.
 *
 * A hold is owed when its response has ended and its charge is durable, but not committed yet: it
 * has no slot, and its money is the exact charge. It is renewed, expires and ends like any other.
 */
export interface LimitStore {
  /** Repeating an admission with the same hold id takes nothing more. */
  admit(request: AdmissionRequest): Promise<AdmissionResult>;
  /**
   * Ends a hold, live or in quarantine: frees slot and money, corrects the token window, applies
   * the snapshot. Called by the owner, or by the process that settled the hold in its place. With
   * `owedNanoUsd` the hold is owed from then on, and another release ends it. Both calls may be
   * repeated, lost or late: an ended hold stays ended.
   */
  release(release: HoldRelease): Promise<void>;
  /**
   * Extends the leases of holds. A hold in quarantine becomes live again. A hold that the store
   * does not know is registered again, even above the limits, with one exception: a store that
   * admits does not register an owed hold, because another process has made its charge and released
   * it.
   */
  renew(holds: readonly Hold[], nowMs: number): Promise<Renewal>;
  /** Sum of an organization's holds, quarantine included. */
  heldNanoUsd(organizationId: string, nowMs: number): Promise<NanoUsd>;
  /** Counts one read by a key in the UTC minute, unless `read_rpm` is reached. */
  takeRead(keyId: string, readsPerMinute: number, nowMs: number): Promise<ReadResult>;
  /** Counts refused requests of an organization or a key in the UTC minute, for `refused_rpm`. */
  countRefused(id: string, requests: number, nowMs: number): Promise<RefusedCount>;
  close(): Promise<void>;
}

export interface AdmissionRequest {
  /** The generation id. */
  readonly holdId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly nowMs: number;
  readonly concurrency: number;
  readonly organizationLimits: RateLimits;
  readonly keyLimits: KeyLimits;
  /** Estimated input plus completions x requested output. */
  readonly tokens: number;
  /** Worst case of the request (docs/design.md, "Invariants", 1). */
  readonly holdNanoUsd: NanoUsd;
  /** `timeouts.total` as it is for this request. */
  readonly totalTimeoutMs: number;
  /** With the spend of the month and of the lifetime if `keyLimits` has such a budget. */
  readonly snapshot: AccountSnapshot;
}

/** Facts about a live hold that a renewal needs. */
export interface Hold {
  readonly holdId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly day: UtcDay;
  readonly holdNanoUsd: NanoUsd;
  /** `timeouts.total` as of the admission. */
  readonly totalTimeoutMs: number;
  /**
   * Charge of an owed hold, at most `holdNanoUsd`. Absent: the response has not ended. If the
   * charge waits for long, another process may make it and release the hold.
   */
  readonly owedNanoUsd?: NanoUsd;
}

/** Result of a renewal. Holds are renewed independently, so only some may fail. */
export interface Renewal {
  /** Ids that were unknown to the store and are registered again. */
  readonly takenBack: readonly string[];
  /** Ids in `takenBack` that were unknown during admissions: others could use their money. */
  readonly exposed: readonly string[];
  readonly failed: readonly FailedRenewal[];
}

export interface FailedRenewal {
  readonly holdIds: readonly string[];
  readonly error: unknown;
}

export type AdmissionResult = Admitted | Refused | ReadAgain;

export interface Admitted {
  readonly kind: 'admitted';
  /** Hold, ledger entry and usage all belong to this day. */
  readonly day: UtcDay;
  readonly windows: Windows;
}

/**
 * Funds that a hold must fit into. Only the scarcest funds are compared with it, and a refusal
 * names them. Of equally scarce ones the first in this list counts.
 */
export type FundsRule = 'monthly_budget' | 'lifetime_budget' | 'balance';

export interface Refused {
  readonly kind: 'refused';
  /** In the documented order: concurrency, requests, tokens, daily budget, funds. */
  readonly rule: 'concurrency' | 'requests' | 'tokens' | 'daily_budget' | FundsRule;
  /** True if a limit of the key (requests, tokens, day) fails, and the organization's does not. */
  readonly ofKey: boolean;
  /** End of the failing window, Unix milliseconds. */
  readonly resetsAtMs: number;
  /** Rest of the scarcest funds, holds deducted. */
  readonly availableNanoUsd: NanoUsd;
  readonly windows: Windows;
}

/**
 * Asks the caller to read PostgreSQL for `day` and to retry, because the snapshot is of another day
 * than the store's, or is not trusted yet.
 */
export interface ReadAgain {
  readonly kind: 'read_again';
  readonly day: UtcDay;
}

/**
 * Windows for the `x-ratelimit-*` headers. Of the windows of key and organization it is the one
 * with less left. Absent without a limit.
 */
export interface Windows {
  readonly requests?: Window;
  readonly tokens?: Window;
}

export interface Window {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsAtMs: number;
}

export interface HoldRelease extends Pick<Hold, 'holdId' | 'organizationId' | 'keyId'> {
  readonly nowMs: number;
  /** Tokens really used. The windows of the admission's minute are corrected to them. */
  readonly tokensUsed: number;
  /** Account after the charge. Absent: no charge, or see `mayBeCharged` and `owedNanoUsd`. */
  readonly snapshot?: AccountSnapshot;
  /** True if the charge may have happened. Snapshots from before are then not trusted. */
  readonly mayBeCharged?: boolean;
  /**
   * Present without the two fields above: a charge of this amount is durable, and will be
   * committed. The amount stays held, but not more than was held before.
   */
  readonly owedNanoUsd?: NanoUsd;
}

export interface RefusedCount {
  /** Count of the minute, of all processes. */
  readonly refused: number;
  readonly resetsAtMs: number;
}

export type ReadResult = { readonly allowed: true } | { readonly allowed: false; readonly resetsAtMs: number };

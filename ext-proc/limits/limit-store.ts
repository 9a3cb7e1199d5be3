import type { UtcDay } from '../../core/clock.ts';
import type { NanoUsd } from '../../core/money.ts';
import type { AccountSnapshot, RateLimits } from '../../core/principal.ts';

/** A request is over after `timeouts.total`; its charge has this much longer. */
const CHARGED_WITHIN_MS = 60_000;

/**
 * Milliseconds from its admission for which the money of a hold stays in quarantine after its lease
 * has expired: no living request is older.
 */
export function quarantineMs({ totalTimeoutMs }: Pick<Hold, 'totalTimeoutMs'>): number {
  return totalTimeoutMs + CHARGED_WITHIN_MS;
}

/**
 * Windows, concurrency slots and holds. One admission is one atomic call: all rules pass and
 * everything is taken, or the first failing rule in the documented order is the answer and nothing
 * is. Facts only, no HTTP. Methods reject with StoreUnavailable.
 *
 * A hold that is not renewed for a lease loses its slot and goes into quarantine: its owner died,
 * stands still or is cut off, and may charge it yet, so its money stays held. Quarantine ends with
 * a release, a renewal (the owner lives), or `quarantineMs` after the admission. A lease that
 * expires even later belongs to a charge that waits in a spool. Its quarantine is as long and
 * counts from the expiry.
 */
export interface LimitStore {
  /** Repeating a hold id that is held takes nothing more. */
  admit(request: AdmissionRequest): Promise<AdmissionResult>;
  /**
   * Ends a hold, by its owner or by the process that settled it in its place, in quarantine or not:
   * frees slot and money, corrects the token window, learns the newer snapshot. Repeating it
   * changes nothing.
   */
  release(release: HoldRelease): Promise<void>;
  /**
   * Extends the leases of live holds. What is in quarantine, or not known, is taken back in,
   * whatever the limits are. A store that admits has not forgotten a spooled hold: it was released.
   */
  renew(holds: readonly Hold[], nowMs: number): Promise<Renewal>;
  /** Sum of the holds against an organization's balance now, quarantine included. */
  heldNanoUsd(organizationId: string, nowMs: number): Promise<NanoUsd>;
  /** `read_rpm`: one read by a key, counted in the UTC minute. */
  takeRead(keyId: string, readsPerMinute: number, nowMs: number): Promise<ReadResult>;
  /**
   * `refused_rpm`: so many more refused requests of an organization or a key, counted in the UTC
   * minute.
   */
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
  readonly keyLimits: RateLimits;
  /** Estimated input plus completions x requested output. */
  readonly tokens: number;
  /** Worst case of the request (docs/design.md, "Invariants", 1). */
  readonly holdNanoUsd: NanoUsd;
  /** `timeouts.total` as it is for this request. */
  readonly totalTimeoutMs: number;
  readonly snapshot: AccountSnapshot;
}

/** Facts that a store needs of a hold that its process still has. */
export interface Hold {
  readonly holdId: string;
  readonly organizationId: string;
  readonly keyId: string;
  /** The day that the admission assigned. */
  readonly day: UtcDay;
  readonly holdNanoUsd: NanoUsd;
  /** `timeouts.total` as of the admission. */
  readonly totalTimeoutMs: number;
  /** Its charge waits in the spool: another process may have made it, and released the hold. */
  readonly spooled?: true;
}

/** Every hold is renewed by itself: what fails for one says nothing of the others. */
export interface Renewal {
  /** Ids that the store did not know, and knows now. */
  readonly takenBack: readonly string[];
  /**
   * Ids among `takenBack` that were unknown while the store admitted others: for a time their money
   * was available to others.
   */
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

export interface Refused {
  readonly kind: 'refused';
  /** In the documented order: concurrency, requests, tokens, daily budget, balance. */
  readonly rule: 'concurrency' | 'requests' | 'tokens' | 'daily_budget' | 'balance';
  /** When the failing window opens again, Unix milliseconds. */
  readonly resetsAtMs: number;
  /** Balance less holds, for `insufficient_credits`. */
  readonly availableNanoUsd: NanoUsd;
  readonly windows: Windows;
}

/**
 * The snapshot is of another day than the store's, or cannot be trusted yet: read PostgreSQL for
 * `day` and ask once more.
 */
export interface ReadAgain {
  readonly kind: 'read_again';
  readonly day: UtcDay;
}

/**
 * For the `x-ratelimit-*` headers: only limits that exist; of key and organization the one with
 * less left.
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

export interface HoldRelease {
  readonly holdId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly nowMs: number;
  /** Tokens really used: the tpm windows of the admission minute are corrected to them. */
  readonly tokensUsed: number;
  /** The state after the charge committed. Absent: nothing was charged. */
  readonly snapshot?: AccountSnapshot;
  /**
   * Without a snapshot: it is unknown whether the hold was charged. Snapshots read before now are
   * not trusted then.
   */
  readonly mayBeCharged?: boolean;
}

export interface RefusedCount {
  /** In this minute, of all processes. */
  readonly refused: number;
  readonly resetsAtMs: number;
}

export type ReadResult = { readonly allowed: true } | { readonly allowed: false; readonly resetsAtMs: number };

import { DAY_MS, MINUTE_MS, utcDay } from '#core/clock.ts';
import { present } from '#core/present.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import type { AdmissionRequest, AdmissionResult, HoldRelease, LimitStore } from '#ext-proc/limits/limit-store.ts';

export const LEASE_MS = 15_000;
/**
 * `timeouts.total` of a request, and the end of the quarantine of its money after its admission.
 */
export const TOTAL_MS = 120_000;
export const QUARANTINE_MS = 180_000;
/** 10:00:00 UTC of some day. */
export const NOON_ISH = 20_778 * DAY_MS + 10 * 60 * MINUTE_MS;
export const DAY = utcDay(NOON_ISH);

export interface SnapshotParts {
  readonly epoch?: string;
  readonly sequence?: number;
  readonly balance?: bigint;
  readonly day?: number;
  readonly spent?: bigint;
  readonly keySpent?: bigint;
  readonly monthSpent?: bigint;
  readonly lifetimeSpent?: bigint;
}

export function snapshotOf({
  epoch = 'epoch-1',
  sequence = 1,
  balance = 1_000n,
  day = DAY,
  spent = 0n,
  keySpent = 0n,
  monthSpent,
  lifetimeSpent,
}: SnapshotParts): AccountSnapshot {
  return {
    ledgerEpoch: epoch,
    organization: { sequence, balanceNanoUsd: balance, day, spentNanoUsd: spent },
    key: {
      ...{ sequence, day, spentNanoUsd: keySpent },
      ...present({ monthSpentNanoUsd: monthSpent, lifetimeSpentNanoUsd: lifetimeSpent }),
    },
  };
}

let ids = 0;

export function requestOf(changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    holdId: `hold-${++ids}`,
    organizationId: 'org-1',
    keyId: 'key-1',
    nowMs: NOON_ISH,
    concurrency: 64,
    organizationLimits: {},
    keyLimits: {},
    tokens: 10,
    holdNanoUsd: 100n,
    totalTimeoutMs: TOTAL_MS,
    snapshot: snapshotOf({}),
    ...changes,
  };
}

/** Admits as the gateway does: repeats with the same snapshot, as if it had been read again. */
export async function admitFresh(store: LimitStore, changes: Partial<AdmissionRequest> = {}): Promise<AdmissionResult> {
  const request = requestOf(changes);
  const first = await store.admit(request);
  return first.kind === 'read_again' ? store.admit(request) : first;
}

/** Ends a hold of the default request. */
export function releaseOf(holdId: string, changes: Partial<HoldRelease> = {}): HoldRelease {
  return { holdId, organizationId: 'org-1', keyId: 'key-1', nowMs: NOON_ISH, tokensUsed: 0, ...changes };
}

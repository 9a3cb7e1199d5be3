import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { type AdmissionRequest, type Hold, quarantineMs } from '../limit-store.ts';
import { addTo, distrust, type KeyState, type OrganizationState } from './account-state.ts';

/** Hold in memory. It counts in the sums of its organization and key, and has a slot while live. */
export interface StoredHold {
  readonly organization: OrganizationState;
  readonly key: KeyState;
  readonly day: UtcDay;
  readonly minute: number | undefined;
  readonly tokens: number;
  readonly nanoUsd: NanoUsd;
  readonly quarantineMs: number;
  /** End of the longest possible life of its request and charge. */
  readonly requestEndsAtMs: number;
  /** End of the lease, or of the quarantine. */
  endsAtMs: number;
}

export interface HoldTable {
  find(holdId: string): StoredHold | undefined;
  take(request: AdmissionRequest, day: UtcDay, organization: OrganizationState, key: KeyState): void;
  /** Registers an unknown hold, without its tokens: their windows may be lost too. */
  takeBack(live: Hold, nowMs: number, organization: OrganizationState, key: KeyState): void;
  free(holdId: string, hold: StoredHold): void;
  /** True if the hold was known, live or in quarantine. */
  renew(holdId: string, nowMs: number): boolean;
  /**
   * Puts holds with an expired lease into quarantine, and frees those whose quarantine is over.
   * Only in tests: in production leases in memory are infinite (docs/life-of-a-request.md, "A
   * hold").
   */
  expire(nowMs: number): void;
}

export function createHoldTable(leaseMs: number): HoldTable {
  /** Ordered by expiry: all leases are equally long, and a renewed hold moves to the end. */
  const live = new Map<string, StoredHold>();
  const quarantined = new Map<string, StoredHold>();

  function add(holdId: string, hold: StoredHold): void {
    for (const subject of [hold.organization, hold.key]) {
      subject.holds += 1;
      addTo(subject.heldByDay, hold.day, hold.nanoUsd);
    }
    hold.organization.heldNanoUsd += hold.nanoUsd;
    hold.organization.slots += 1;
    live.set(holdId, hold);
  }

  function free(holdId: string, hold: StoredHold): void {
    if (live.delete(holdId)) hold.organization.slots -= 1;
    quarantined.delete(holdId);
    for (const subject of [hold.organization, hold.key]) {
      subject.holds -= 1;
      addTo(subject.heldByDay, hold.day, -hold.nanoUsd);
    }
    hold.organization.heldNanoUsd -= hold.nanoUsd;
  }

  function quarantine(holdId: string, hold: StoredHold): void {
    live.delete(holdId);
    hold.organization.slots -= 1;
    const expiredAtMs = hold.endsAtMs;
    hold.endsAtMs = expiredAtMs < hold.requestEndsAtMs ? hold.requestEndsAtMs : expiredAtMs + hold.quarantineMs;
    quarantined.set(holdId, hold);
  }

  function times(request: Pick<Hold, 'totalTimeoutMs'>, nowMs: number) {
    const ms = quarantineMs(request);
    return { quarantineMs: ms, requestEndsAtMs: nowMs + ms, endsAtMs: nowMs + leaseMs };
  }

  return {
    find: (holdId) => live.get(holdId) ?? quarantined.get(holdId),
    take(request, day, organization, key) {
      const { tokens, holdNanoUsd: nanoUsd, nowMs, holdId } = request;
      const { minute } = organization.window;
      add(holdId, { organization, key, day, minute, tokens, nanoUsd, ...times(request, nowMs) });
    },
    takeBack(hold, nowMs, organization, key) {
      const { holdId, day, holdNanoUsd: nanoUsd } = hold;
      add(holdId, { organization, key, day, minute: undefined, tokens: 0, nanoUsd, ...times(hold, nowMs) });
    },
    free,
    renew(holdId, nowMs) {
      const hold = live.get(holdId) ?? quarantined.get(holdId);
      if (!hold) return false;
      if (quarantined.delete(holdId)) hold.organization.slots += 1;
      hold.endsAtMs = nowMs + leaseMs;
      live.delete(holdId);
      live.set(holdId, hold);
      return true;
    },
    expire(nowMs) {
      for (const [holdId, hold] of live) {
        if (hold.endsAtMs > nowMs) break;
        quarantine(holdId, hold);
      }
      for (const [holdId, hold] of quarantined) {
        if (hold.endsAtMs > nowMs) continue;
        free(holdId, hold);
        distrust(hold.organization);
      }
    },
  };
}

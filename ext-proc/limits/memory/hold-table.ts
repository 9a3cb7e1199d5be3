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

export class HoldTable {
  readonly #leaseMs: number;
  /** Ordered by expiry: all leases are equally long, and a renewed hold moves to the end. */
  readonly #live = new Map<string, StoredHold>();
  readonly #quarantined = new Map<string, StoredHold>();

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  find(holdId: string): StoredHold | undefined {
    return this.#live.get(holdId) ?? this.#quarantined.get(holdId);
  }

  take(request: AdmissionRequest, day: UtcDay, organization: OrganizationState, key: KeyState): void {
    const { tokens, holdNanoUsd: nanoUsd, nowMs, holdId } = request;
    const { minute } = organization.window;
    this.#add(holdId, { organization, key, day, minute, tokens, nanoUsd, ...this.#times(request, nowMs) });
  }

  /** Registers an unknown hold, without its tokens: their windows may be lost too. */
  takeBack(live: Hold, nowMs: number, organization: OrganizationState, key: KeyState): void {
    const { holdId, day, holdNanoUsd: nanoUsd } = live;
    this.#add(holdId, { organization, key, day, minute: undefined, tokens: 0, nanoUsd, ...this.#times(live, nowMs) });
  }

  free(holdId: string, hold: StoredHold): void {
    if (this.#live.delete(holdId)) hold.organization.slots -= 1;
    this.#quarantined.delete(holdId);
    for (const subject of [hold.organization, hold.key]) {
      subject.holds -= 1;
      addTo(subject.heldByDay, hold.day, -hold.nanoUsd);
    }
    hold.organization.heldNanoUsd -= hold.nanoUsd;
  }

  /** True if the hold was known, live or in quarantine. */
  renew(holdId: string, nowMs: number): boolean {
    const hold = this.find(holdId);
    if (!hold) return false;
    if (this.#quarantined.delete(holdId)) hold.organization.slots += 1;
    hold.endsAtMs = nowMs + this.#leaseMs;
    this.#live.delete(holdId);
    this.#live.set(holdId, hold);
    return true;
  }

  /**
   * Puts holds with an expired lease into quarantine, and frees those whose quarantine is over.
   * Only in tests: in production leases in memory are infinite (docs/life-of-a-request.md, "A
   * hold").
   */
  expire(nowMs: number): void {
    for (const [holdId, hold] of this.#live) {
      if (hold.endsAtMs > nowMs) break;
      this.#quarantine(holdId, hold);
    }
    for (const [holdId, hold] of this.#quarantined) {
      if (hold.endsAtMs > nowMs) continue;
      this.free(holdId, hold);
      distrust(hold.organization);
    }
  }

  #add(holdId: string, hold: StoredHold): void {
    for (const subject of [hold.organization, hold.key]) {
      subject.holds += 1;
      addTo(subject.heldByDay, hold.day, hold.nanoUsd);
    }
    hold.organization.heldNanoUsd += hold.nanoUsd;
    hold.organization.slots += 1;
    this.#live.set(holdId, hold);
  }

  #times(request: Pick<Hold, 'totalTimeoutMs'>, nowMs: number) {
    const ms = quarantineMs(request);
    return { quarantineMs: ms, requestEndsAtMs: nowMs + ms, endsAtMs: nowMs + this.#leaseMs };
  }

  #quarantine(holdId: string, hold: StoredHold): void {
    this.#live.delete(holdId);
    hold.organization.slots -= 1;
    const expiredAtMs = hold.endsAtMs;
    hold.endsAtMs = expiredAtMs < hold.requestEndsAtMs ? hold.requestEndsAtMs : expiredAtMs + hold.quarantineMs;
    this.#quarantined.set(holdId, hold);
  }
}

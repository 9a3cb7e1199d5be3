import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { type Hold, quarantineMs } from '../limit-store.ts';
import { addTo, distrust, type KeyState, type OrganizationState } from './account-state.ts';

type TakenHold = Pick<Hold, 'holdId' | 'day' | 'holdNanoUsd' | 'totalTimeoutMs'>;

/** The accounts of one API key. */
export interface Accounts {
  readonly organization: OrganizationState;
  readonly key: KeyState;
}

/** Hold in the sums of its organization and key. It has a slot while it is live and not owed. */
export interface StoredHold extends Accounts {
  readonly day: UtcDay;
  readonly minute: number | undefined;
  tokens: number;
  nanoUsd: NanoUsd;
  isOwed: boolean;
  readonly quarantineMs: number;
  /** End of the longest possible life of its request and charge. */
  readonly requestEndsAtMs: number;
  /** End of the lease, or of the hold if it has no slot. */
  endsAtMs: number;
}

export class HoldTable {
  readonly #leaseMs: number;
  /** Ordered by expiry: all leases are equally long, and a renewed hold moves to the end. */
  readonly #live = new Map<string, StoredHold>();
  /** Holds that are owed or in quarantine. */
  readonly #withoutSlot = new Map<string, StoredHold>();
  /** No hold of `#withoutSlot` ends before this time. */
  #endsFromMs = Infinity;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  find(holdId: string): StoredHold | undefined {
    return this.#live.get(holdId) ?? this.#withoutSlot.get(holdId);
  }

  /** `counted`: the tokens of the hold, and the minute in whose windows they are. */
  take(taken: TakenHold, nowMs: number, accounts: Accounts, counted: Pick<StoredHold, 'minute' | 'tokens'>): void {
    const { holdId, day, holdNanoUsd: nanoUsd } = taken;
    const ms = quarantineMs(taken);
    const times = { quarantineMs: ms, requestEndsAtMs: nowMs + ms, endsAtMs: nowMs + this.#leaseMs };
    this.#live.set(holdId, { ...accounts, ...counted, day, nanoUsd, isOwed: false, ...times });
    const { organization, key } = accounts;
    for (const subject of [organization, key]) {
      subject.holds += 1;
      addTo(subject.heldByDay, day, nanoUsd);
    }
    organization.heldNanoUsd += nanoUsd;
    organization.slots += 1;
  }

  free(holdId: string, hold: StoredHold): void {
    if (this.#live.delete(holdId)) hold.organization.slots -= 1;
    this.#withoutSlot.delete(holdId);
    for (const subject of [hold.organization, hold.key]) subject.holds -= 1;
    this.#hold(hold, 0n);
  }

  /** Frees the slot, and the money beyond what is owed. */
  owe(holdId: string, hold: StoredHold, owedNanoUsd: NanoUsd, nowMs: number): void {
    hold.isOwed = true;
    if (owedNanoUsd < hold.nanoUsd) this.#hold(hold, owedNanoUsd);
    this.#takeSlot(holdId, hold, nowMs + this.#leaseMs);
  }

  /** True if the hold was known, live or in quarantine. */
  renew(holdId: string, nowMs: number): boolean {
    const hold = this.find(holdId);
    if (!hold) return false;
    const expiresAtMs = nowMs + this.#leaseMs;
    if (hold.isOwed) {
      this.#takeSlot(holdId, hold, expiresAtMs);
      return true;
    }
    if (this.#withoutSlot.delete(holdId)) hold.organization.slots += 1;
    hold.endsAtMs = expiresAtMs;
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
      this.#takeSlot(holdId, hold, hold.endsAtMs);
    }
    if (nowMs < this.#endsFromMs) return;
    this.#endsFromMs = Infinity;
    for (const [holdId, hold] of this.#withoutSlot) {
      if (hold.endsAtMs > nowMs) this.#endsFromMs = Math.min(this.#endsFromMs, hold.endsAtMs);
      else {
        this.free(holdId, hold);
        distrust(hold.organization);
      }
    }
  }

  #hold(hold: StoredHold, nanoUsd: NanoUsd): void {
    const more = nanoUsd - hold.nanoUsd;
    for (const { heldByDay } of [hold.organization, hold.key]) addTo(heldByDay, hold.day, more);
    hold.organization.heldNanoUsd += more;
    hold.nanoUsd = nanoUsd;
  }

  /** Frees the slot. The money stays held until the quarantine after this expiry of the lease. */
  #takeSlot(holdId: string, hold: StoredHold, expiresAtMs: number): void {
    if (this.#live.delete(holdId)) hold.organization.slots -= 1;
    hold.endsAtMs = expiresAtMs < hold.requestEndsAtMs ? hold.requestEndsAtMs : expiresAtMs + hold.quarantineMs;
    this.#endsFromMs = Math.min(this.#endsFromMs, hold.endsAtMs);
    this.#withoutSlot.set(holdId, hold);
  }
}

import type { UtcDay } from '../../domain/clock.ts';
import type { NanoUsd } from '../../domain/money.ts';
import type { AdmissionRequest } from '../limit-store.ts';
import { addTo, distrust, type KeyState, type OrganizationState } from './account-state.ts';

/** What an admitted request keeps: a slot, and money of its organization's balance and of both budgets of its day. */
export interface Hold {
  readonly organization: OrganizationState;
  readonly key: KeyState;
  readonly day: UtcDay;
  readonly minute: number;
  readonly tokens: number;
  readonly nanoUsd: NanoUsd;
  lapsesAtMs: number;
}

export interface Holds {
  find(holdId: string): Hold | undefined;
  take(request: AdmissionRequest, day: UtcDay, organization: OrganizationState, key: KeyState): void;
  free(holdId: string, hold: Hold): void;
  /** Whether it was still held. */
  renew(holdId: string, nowMs: number): boolean;
  /** Frees what was not renewed in time. */
  lapse(nowMs: number): void;
}

export function createHolds(leaseMs: number): Holds {
  /** In the order of their lapse, because every lease is as long as the others and a renewed one moves to the end. */
  const holds = new Map<string, Hold>();

  function free(holdId: string, hold: Hold): void {
    holds.delete(holdId);
    for (const subject of [hold.organization, hold.key]) {
      subject.slots -= 1;
      addTo(subject.heldByDay, hold.day, -hold.nanoUsd);
    }
    hold.organization.heldNanoUsd -= hold.nanoUsd;
  }

  return {
    find: (holdId) => holds.get(holdId),
    take({ tokens, holdNanoUsd: nanoUsd, nowMs, holdId }, day, organization, key) {
      for (const subject of [organization, key]) {
        subject.slots += 1;
        addTo(subject.heldByDay, day, nanoUsd);
      }
      organization.heldNanoUsd += nanoUsd;
      const { minute } = organization.window;
      holds.set(holdId, { organization, key, day, minute, tokens, nanoUsd, lapsesAtMs: nowMs + leaseMs });
    },
    free,
    renew(holdId, nowMs) {
      const hold = holds.get(holdId);
      if (!hold) return false;
      hold.lapsesAtMs = nowMs + leaseMs;
      holds.delete(holdId);
      holds.set(holdId, hold);
      return true;
    },
    lapse(nowMs) {
      for (const [holdId, hold] of holds) {
        if (hold.lapsesAtMs > nowMs) return;
        free(holdId, hold);
        distrust(hold.organization);
      }
    },
  };
}

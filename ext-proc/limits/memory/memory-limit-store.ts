import { firstOfMonth, MINUTE_MS, utcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type {
  AdmissionRequest,
  AdmissionResult,
  Hold,
  HoldRelease,
  LimitStore,
  ReadResult,
  RefusedCount,
  Renewal,
} from '../limit-store.ts';
import {
  deleteDaysBefore,
  distrust,
  type KeyState,
  learn,
  newKey,
  newOrganization,
  type OrganizationState,
  trustSnapshot,
} from './account-state.ts';
import { failingRule, scarcestFunds, windowsOf } from './admission-rules.ts';
import { HoldTable } from './hold-table.ts';
import {
  addRequest,
  createMinuteClock,
  emptyWindow,
  endOf,
  hasRequest,
  type MinuteWindow,
  moveTo,
} from './minute-window.ts';

export interface MemoryLimitStoreOptions {
  /** A hold that is not renewed for this long goes into quarantine. */
  readonly leaseMs: number;
  /** Organizations and keys without holds are evicted after this long without a request. */
  readonly idleMs?: number;
}

const IDLE_MS = 600_000;
const SWEEP_EVERY_MS = MINUTE_MS;

/** A LimitStore for the only gateway process of a database. */
export function createMemoryLimitStore(options: MemoryLimitStoreOptions): LimitStore {
  const limits = new MemoryLimits(options);
  return {
    admit: async (request) => limits.admit(request),
    release: async (hold) => limits.release(hold),
    renew: async (live, nowMs) => limits.renew(live, nowMs),
    heldNanoUsd: async (organizationId, nowMs) => limits.held(organizationId, nowMs),
    takeRead: async (keyId, readsPerMinute, nowMs) => limits.takeRead(keyId, readsPerMinute, nowMs),
    countRefused: async (id, requests, nowMs) => limits.countRefused(id, requests, nowMs),
    close: async () => {},
  };
}

/** Every method runs to its end without yielding, so it is atomic. */
class MemoryLimits {
  readonly #idleMs: number;
  readonly #holds: HoldTable;
  readonly #organizations = new Map<string, OrganizationState>();
  readonly #reads = new Map<string, MinuteWindow>();
  readonly #refused = new Map<string, MinuteWindow>();
  readonly #minuteOf = createMinuteClock();
  #sweptAtMs = 0;

  constructor({ leaseMs, idleMs = IDLE_MS }: MemoryLimitStoreOptions) {
    this.#idleMs = idleMs;
    this.#holds = new HoldTable(leaseMs);
  }

  admit(request: AdmissionRequest): AdmissionResult {
    const { nowMs, holdId } = request;
    this.#holds.expire(nowMs);
    this.#sweep(nowMs);
    const day = utcDay(nowMs);
    const organization = entry(this.#organizations, request.organizationId, newOrganization);
    const key = entry(organization.keys, request.keyId, newKey);
    organization.usedAtMs = nowMs;
    key.usedAtMs = nowMs;
    const { snapshot } = request;
    const isOfToday = snapshot.organization.day === day && snapshot.key.day === day;
    const minute = this.#minuteOf(nowMs);
    moveTo(organization.window, minute);
    moveTo(key.window, minute);
    const held = this.#holds.find(holdId);
    if (held) return { kind: 'admitted', day: held.day, windows: windowsOf(request, organization, key) };
    if (!trustSnapshot(organization, key, snapshot, holdId) || !isOfToday) return { kind: 'read_again', day };

    const funds = scarcestFunds(request, day, organization, key);
    const failing = failingRule(request, day, organization, key, funds);
    if (failing) {
      const { availableNanoUsd } = funds;
      return { kind: 'refused', ...failing, availableNanoUsd, windows: windowsOf(request, organization, key) };
    }
    addRequest(organization.window, request.tokens);
    addRequest(key.window, request.tokens);
    this.#holds.take(request, day, organization, key);
    return { kind: 'admitted', day, windows: windowsOf(request, organization, key) };
  }

  release(given: HoldRelease): void {
    const { holdId, organizationId, keyId, nowMs, snapshot, tokensUsed, owedNanoUsd } = given;
    this.#holds.expire(nowMs);
    const organization = this.#organizations.get(organizationId);
    if (organization && snapshot) learn(organization, organization.keys.get(keyId), snapshot);
    else if (organization && given.mayBeCharged) distrust(organization);
    const hold = this.#holds.find(holdId);
    if (!hold || (hold.isOwed && owedNanoUsd !== undefined)) return;
    if (owedNanoUsd === undefined) this.#holds.free(holdId, hold);
    else this.#holds.owe(holdId, hold, owedNanoUsd, nowMs);
    for (const { window } of [hold.organization, hold.key]) {
      if (window.minute === hold.minute) window.tokens += tokensUsed - hold.tokens;
    }
    hold.tokens = tokensUsed;
  }

  renew(live: readonly Hold[], nowMs: number): Renewal {
    this.#holds.expire(nowMs);
    const takenBack: string[] = [];
    for (const hold of live) {
      if (this.#holds.renew(hold.holdId, nowMs) || hold.owedNanoUsd !== undefined) continue;
      takenBack.push(hold.holdId);
      const organization = entry(this.#organizations, hold.organizationId, newOrganization);
      const key = entry(organization.keys, hold.keyId, newKey);
      organization.usedAtMs = nowMs;
      key.usedAtMs = nowMs;
      this.#holds.takeBack(hold, nowMs, organization, key);
    }
    return { takenBack, exposed: takenBack, failed: [] };
  }

  held(organizationId: string, nowMs: number): NanoUsd {
    this.#holds.expire(nowMs);
    return this.#organizations.get(organizationId)?.heldNanoUsd ?? 0n;
  }

  takeRead(keyId: string, readsPerMinute: number, nowMs: number): ReadResult {
    this.#sweep(nowMs);
    const window = entry(this.#reads, keyId, emptyWindow);
    moveTo(window, this.#minuteOf(nowMs));
    if (!hasRequest(window, readsPerMinute)) return { allowed: false, resetsAtMs: endOf(window) };
    window.requests += 1;
    return { allowed: true };
  }

  countRefused(id: string, requests: number, nowMs: number): RefusedCount {
    this.#sweep(nowMs);
    const window = entry(this.#refused, id, emptyWindow);
    moveTo(window, this.#minuteOf(nowMs));
    window.requests += requests;
    return { refused: window.requests, resetsAtMs: endOf(window) };
  }

  /** Evicts idle organizations, keys and windows, so the maps stay bounded. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptAtMs) < SWEEP_EVERY_MS) return;
    this.#sweptAtMs = nowMs;
    const isIdle = (subject: OrganizationState | KeyState) =>
      subject.holds === 0 && nowMs - subject.usedAtMs > this.#idleMs;
    const yesterday = utcDay(nowMs) - 1;
    for (const [id, organization] of this.#organizations) {
      if (isIdle(organization)) this.#organizations.delete(id);
      deleteDaysBefore(organization.spent, yesterday);
      for (const [keyId, key] of organization.keys) {
        if (isIdle(key)) organization.keys.delete(keyId);
        deleteDaysBefore(key.spent, yesterday);
        deleteDaysBefore(key.monthSpent, firstOfMonth(yesterday));
      }
    }
    for (const windows of [this.#reads, this.#refused]) {
      for (const [id, window] of windows) if (endOf(window) <= nowMs) windows.delete(id);
    }
  }
}

function entry<T>(map: Map<string, T>, id: string, make: () => T): T {
  let found = map.get(id);
  if (found === undefined) {
    found = make();
    map.set(id, found);
  }
  return found;
}

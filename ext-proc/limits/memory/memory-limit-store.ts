import { firstOfMonth, MINUTE_MS, utcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
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
import { windowsLeft } from '../windows-left.ts';
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
import { failingRule, scarcestFunds } from './admission-rules.ts';
import { type Accounts, HoldTable } from './hold-table.ts';
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
  /** Nothing is admitted while this is above 0: a former owner of the limits may still charge. */
  readonly opensInMs?: () => number;
}

const IDLE_MS = 600_000;
const SWEEP_EVERY_MS = MINUTE_MS;

/**
 * A LimitStore for the only gateway process of a database. Every method runs to its end without
 * yielding, so it is atomic.
 */
export class MemoryLimitStore implements LimitStore {
  readonly #idleMs: number;
  readonly #opensInMs: () => number;
  readonly #holds: HoldTable;
  readonly #organizations = new Map<string, OrganizationState>();
  readonly #reads = new Map<string, MinuteWindow>();
  readonly #refused = new Map<string, MinuteWindow>();
  readonly #minuteOf = createMinuteClock();
  #sweptAtMs = 0;

  constructor({ leaseMs, idleMs = IDLE_MS, opensInMs = () => 0 }: MemoryLimitStoreOptions) {
    this.#idleMs = idleMs;
    this.#opensInMs = opensInMs;
    this.#holds = new HoldTable(leaseMs);
  }

  async admit(request: AdmissionRequest): Promise<AdmissionResult> {
    if (this.#opensInMs() > 0) throw new StoreUnavailable('the former owner of the limits may still charge');
    const { nowMs, holdId } = request;
    this.#holds.expire(nowMs);
    this.#sweep(nowMs);
    const day = utcDay(nowMs);
    const accounts = this.#accountsOf(request, nowMs);
    const { organization, key } = accounts;
    const { snapshot } = request;
    const isOfToday = snapshot.organization.day === day && snapshot.key.day === day;
    const minute = this.#minuteOf(nowMs);
    moveTo(organization.window, minute);
    moveTo(key.window, minute);
    const windows = () => windowsLeft(request, organization.window, key.window, endOf(key.window));
    const held = this.#holds.find(holdId);
    if (held) return { kind: 'admitted', day: held.day, windows: windows() };
    if (!trustSnapshot(organization, key, snapshot, holdId) || !isOfToday) return { kind: 'read_again', day };

    const funds = scarcestFunds(request, day, organization, key);
    const failing = failingRule(request, day, organization, key, funds);
    if (failing) {
      const { availableNanoUsd } = funds;
      return { kind: 'refused', ...failing, availableNanoUsd, windows: windows() };
    }
    const { tokens } = request;
    for (const { window } of [organization, key]) addRequest(window, tokens);
    this.#holds.take({ ...request, day }, nowMs, accounts, { minute, tokens });
    return { kind: 'admitted', day, windows: windows() };
  }

  async release(given: HoldRelease): Promise<void> {
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

  async renew(live: readonly Hold[], nowMs: number): Promise<Renewal> {
    this.#holds.expire(nowMs);
    const takenBack: string[] = [];
    for (const hold of live) {
      if (this.#holds.renew(hold.holdId, nowMs) || hold.owedNanoUsd !== undefined) continue;
      takenBack.push(hold.holdId);
      // Without its tokens, because their window may be lost too.
      this.#holds.take(hold, nowMs, this.#accountsOf(hold, nowMs), { minute: undefined, tokens: 0 });
    }
    return { takenBack, exposed: takenBack, failed: [] };
  }

  async heldNanoUsd(organizationId: string, nowMs: number): Promise<NanoUsd> {
    this.#holds.expire(nowMs);
    return this.#organizations.get(organizationId)?.heldNanoUsd ?? 0n;
  }

  async takeRead(keyId: string, readsPerMinute: number, nowMs: number): Promise<ReadResult> {
    const window = this.#windowOf(this.#reads, keyId, nowMs);
    if (!hasRequest(window, readsPerMinute)) return { allowed: false, resetsAtMs: endOf(window) };
    window.requests += 1;
    return { allowed: true };
  }

  async countRefused(id: string, requests: number, nowMs: number): Promise<RefusedCount> {
    const window = this.#windowOf(this.#refused, id, nowMs);
    window.requests += requests;
    return { refused: window.requests, resetsAtMs: endOf(window) };
  }

  async close(): Promise<void> {}

  #windowOf(windows: Map<string, MinuteWindow>, id: string, nowMs: number): MinuteWindow {
    this.#sweep(nowMs);
    const window = entry(windows, id, emptyWindow);
    moveTo(window, this.#minuteOf(nowMs));
    return window;
  }

  #accountsOf({ organizationId, keyId }: Pick<Hold, 'organizationId' | 'keyId'>, nowMs: number): Accounts {
    const organization = entry(this.#organizations, organizationId, newOrganization);
    const key = entry(organization.keys, keyId, newKey);
    organization.usedAtMs = nowMs;
    key.usedAtMs = nowMs;
    return { organization, key };
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

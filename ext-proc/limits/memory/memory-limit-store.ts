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
import { createHoldTable } from './hold-table.ts';
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

/**
 * Keeps windows, slots and holds of the only gateway process of a database. Every method runs to
 * its end without yielding, so it is atomic. The contract is that of LimitStore.
 */
export function createMemoryLimitStore(options: MemoryLimitStoreOptions): LimitStore {
  const { leaseMs, idleMs = IDLE_MS } = options;
  const holds = createHoldTable(leaseMs);
  const organizations = new Map<string, OrganizationState>();
  const reads = new Map<string, MinuteWindow>();
  const refused = new Map<string, MinuteWindow>();
  const minuteOf = createMinuteClock();
  let sweptAtMs = 0;

  function admit(request: AdmissionRequest): AdmissionResult {
    const { nowMs, holdId } = request;
    holds.expire(nowMs);
    sweep(nowMs);
    const day = utcDay(nowMs);
    const organization = entry(organizations, request.organizationId, newOrganization);
    const key = entry(organization.keys, request.keyId, newKey);
    organization.usedAtMs = nowMs;
    key.usedAtMs = nowMs;
    const { snapshot } = request;
    const isOfToday = snapshot.organization.day === day && snapshot.key.day === day;
    const minute = minuteOf(nowMs);
    moveTo(organization.window, minute);
    moveTo(key.window, minute);
    const held = holds.find(holdId);
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
    holds.take(request, day, organization, key);
    return { kind: 'admitted', day, windows: windowsOf(request, organization, key) };
  }

  function release(given: HoldRelease): void {
    const { holdId, organizationId, keyId, nowMs, snapshot, tokensUsed } = given;
    holds.expire(nowMs);
    const organization = organizations.get(organizationId);
    if (organization && snapshot) learn(organization, organization.keys.get(keyId), snapshot);
    else if (organization && given.mayBeCharged) distrust(organization);
    const hold = holds.find(holdId);
    if (!hold) return;
    holds.free(holdId, hold);
    for (const { window } of [hold.organization, hold.key]) {
      if (window.minute === hold.minute) window.tokens += tokensUsed - hold.tokens;
    }
  }

  function renew(live: readonly Hold[], nowMs: number): Renewal {
    holds.expire(nowMs);
    const takenBack: string[] = [];
    for (const hold of live) {
      if (holds.renew(hold.holdId, nowMs) || hold.spooled) continue;
      takenBack.push(hold.holdId);
      const organization = entry(organizations, hold.organizationId, newOrganization);
      const key = entry(organization.keys, hold.keyId, newKey);
      organization.usedAtMs = nowMs;
      key.usedAtMs = nowMs;
      holds.takeBack(hold, nowMs, organization, key);
    }
    return { takenBack, exposed: takenBack, failed: [] };
  }

  function held(organizationId: string, nowMs: number): NanoUsd {
    holds.expire(nowMs);
    return organizations.get(organizationId)?.heldNanoUsd ?? 0n;
  }

  function takeRead(keyId: string, readsPerMinute: number, nowMs: number): ReadResult {
    sweep(nowMs);
    const window = entry(reads, keyId, emptyWindow);
    moveTo(window, minuteOf(nowMs));
    if (!hasRequest(window, readsPerMinute)) return { allowed: false, resetsAtMs: endOf(window) };
    window.requests += 1;
    return { allowed: true };
  }

  function countRefused(id: string, requests: number, nowMs: number): RefusedCount {
    sweep(nowMs);
    const window = entry(refused, id, emptyWindow);
    moveTo(window, minuteOf(nowMs));
    window.requests += requests;
    return { refused: window.requests, resetsAtMs: endOf(window) };
  }

  /** Evicts idle organizations, keys and windows, so the maps stay bounded. */
  function sweep(nowMs: number): void {
    if (Math.abs(nowMs - sweptAtMs) < SWEEP_EVERY_MS) return;
    sweptAtMs = nowMs;
    const isIdle = (subject: OrganizationState | KeyState) => subject.holds === 0 && nowMs - subject.usedAtMs > idleMs;
    const yesterday = utcDay(nowMs) - 1;
    for (const [id, organization] of organizations) {
      if (isIdle(organization)) organizations.delete(id);
      deleteDaysBefore(organization.spent, yesterday);
      for (const [keyId, key] of organization.keys) {
        if (isIdle(key)) organization.keys.delete(keyId);
        deleteDaysBefore(key.spent, yesterday);
        deleteDaysBefore(key.monthSpent, firstOfMonth(yesterday));
      }
    }
    for (const windows of [reads, refused]) {
      for (const [id, window] of windows) if (endOf(window) <= nowMs) windows.delete(id);
    }
  }

  return {
    admit: async (request) => admit(request),
    release: async (hold) => release(hold),
    renew: async (live, nowMs) => renew(live, nowMs),
    heldNanoUsd: async (organizationId, nowMs) => held(organizationId, nowMs),
    takeRead: async (keyId, readsPerMinute, nowMs) => takeRead(keyId, readsPerMinute, nowMs),
    countRefused: async (id, requests, nowMs) => countRefused(id, requests, nowMs),
    close: async () => {},
  };
}

function entry<T>(map: Map<string, T>, id: string, make: () => T): T {
  let found = map.get(id);
  if (found === undefined) {
    found = make();
    map.set(id, found);
  }
  return found;
}

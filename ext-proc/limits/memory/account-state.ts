import { firstOfMonth, type UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AccountSnapshot, KeyAccount } from '#core/principal.ts';
import { emptyWindow, type MinuteWindow } from './minute-window.ts';

interface AccountState {
  trusted: boolean;
  readonly spent: Map<UtcDay, Spent>;
  /** Number of holds, quarantine included. */
  holds: number;
  readonly heldByDay: Map<UtcDay, NanoUsd>;
  readonly window: MinuteWindow;
  usedAtMs: number;
}

/**
 * State of an organization in the store. The functions below are the rules by which the store
 * trusts account snapshots. docs/life-of-a-request.md, "An account in the limit store", proves that
 * they suffice.
 */
export interface OrganizationState extends AccountState {
  epoch: string | undefined;
  sequence: number;
  balanceNanoUsd: NanoUsd;
  readonly keys: Map<string, KeyState>;
  /** Number of live holds. */
  slots: number;
  heldNanoUsd: NanoUsd;
}

export interface KeyState extends AccountState {
  /** Hold ids of callers that were asked to read again since trust was last withdrawn. */
  readonly askedToRead: Set<string>;
  /** By the first day of the month. Empty for a key without a monthly budget. */
  readonly monthSpent: Map<UtcDay, Spent>;
  lifetimeSpent: Spent | undefined;
}

export interface Spent {
  readonly sequence: number;
  readonly nanoUsd: NanoUsd;
}

function newAccount(): AccountState {
  return { trusted: false, spent: new Map(), holds: 0, heldByDay: new Map(), window: emptyWindow(), usedAtMs: 0 };
}

export function newOrganization(): OrganizationState {
  const funds = { epoch: undefined, sequence: -1, balanceNanoUsd: 0n, heldNanoUsd: 0n };
  return { ...newAccount(), ...funds, keys: new Map(), slots: 0 };
}

export function newKey(): KeyState {
  return { ...newAccount(), askedToRead: new Set(), monthSpent: new Map(), lifetimeSpent: undefined };
}

/** Applies the snapshot of an admission. False: not trusted, so the caller has to read again. */
export function trustSnapshot(
  organization: OrganizationState,
  key: KeyState,
  snapshot: AccountSnapshot,
  holdId: string,
): boolean {
  if (organization.trusted && organization.epoch !== snapshot.ledgerEpoch) distrust(organization);
  if (!(organization.trusted && key.trusted)) {
    if (!key.askedToRead.delete(holdId)) {
      key.askedToRead.add(holdId);
      return false;
    }
    if (organization.epoch !== snapshot.ledgerEpoch) beginEpoch(organization, snapshot.ledgerEpoch);
    organization.trusted = true;
    key.trusted = true;
    key.askedToRead.clear();
  }
  remember(organization, key, snapshot);
  return true;
}

/**
 * Applies the snapshot of a charge. A snapshot of another epoch cannot be compared. Trust is then
 * withdrawn, because the hold is freed, while a caller that was asked to read may have read before
 * the charge.
 */
export function learn(organization: OrganizationState, key: KeyState | undefined, snapshot: AccountSnapshot): void {
  if (organization.epoch === snapshot.ledgerEpoch) remember(organization, key, snapshot);
  else distrust(organization);
}

export function addTo(byDay: Map<UtcDay, NanoUsd>, day: UtcDay, nanoUsd: NanoUsd): void {
  const sum = (byDay.get(day) ?? 0n) + nanoUsd;
  if (sum === 0n) byDay.delete(day);
  else byDay.set(day, sum);
}

/** Deletes the spend of days, or of months, that no admission needs any more. */
export function deleteDaysBefore(spent: Map<UtcDay, Spent>, day: UtcDay): void {
  for (const known of spent.keys()) if (known < day) spent.delete(known);
}

function remember(organization: OrganizationState, key: KeyState | undefined, snapshot: AccountSnapshot): void {
  const account = snapshot.organization;
  if (account.sequence >= organization.sequence) {
    organization.sequence = account.sequence;
    organization.balanceNanoUsd = account.balanceNanoUsd;
  }
  rememberSpent(organization.spent, account.day, account.sequence, account.spentNanoUsd);
  if (key) rememberKeySpent(key, snapshot.key);
}

function rememberKeySpent(key: KeyState, account: KeyAccount): void {
  const { sequence, day, monthSpentNanoUsd, lifetimeSpentNanoUsd } = account;
  rememberSpent(key.spent, day, sequence, account.spentNanoUsd);
  if (monthSpentNanoUsd !== undefined) rememberSpent(key.monthSpent, firstOfMonth(day), sequence, monthSpentNanoUsd);
  if (lifetimeSpentNanoUsd !== undefined) {
    key.lifetimeSpent = newerSpent(key.lifetimeSpent, sequence, lifetimeSpentNanoUsd);
  }
}

/** Keeps the newest spend per day or month: yesterday's charge says nothing about today. */
function rememberSpent(spent: Map<UtcDay, Spent>, first: UtcDay, sequence: number, nanoUsd: NanoUsd): void {
  spent.set(first, newerSpent(spent.get(first), sequence, nanoUsd));
}

function newerSpent(known: Spent | undefined, sequence: number, nanoUsd: NanoUsd): Spent {
  return known && known.sequence > sequence ? known : { sequence, nanoUsd };
}

/** Withdraws trust, also from all keys. Every caller has to read again, even if asked before. */
export function distrust(organization: OrganizationState): void {
  organization.trusted = false;
  for (const key of organization.keys.values()) {
    key.trusted = false;
    key.askedToRead.clear();
  }
}

function beginEpoch(organization: OrganizationState, epoch: string): void {
  organization.epoch = epoch;
  organization.sequence = -1;
  organization.spent.clear();
  for (const key of organization.keys.values()) {
    key.spent.clear();
    key.monthSpent.clear();
    key.lifetimeSpent = undefined;
  }
}

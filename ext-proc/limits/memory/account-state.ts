import type { UtcDay } from '../../../core/clock.ts';
import type { NanoUsd } from '../../../core/money.ts';
import type { AccountSnapshot } from '../../../core/principal.ts';
import { emptyWindow, type MinuteWindow } from './minute-window.ts';

/**
 * What the store remembers of an organization or key, and when it may believe a snapshot of PostgreSQL.
 *
 * Claim: whenever an admission is decided, the remembered balance includes every charge of a hold that is no longer held here. Proof, for
 * an organization (a key's spend is the same with its own entry):
 * 1. An entry begins untrusted. A snapshot that arrives then may have been read long ago, before charges whose holds were released under
 *    an entry that was evicted since. So it is answered with "read again", and only a caller that was told so may make the entry trusted:
 *    it read after the entry began, so its snapshot has every charge that was committed before.
 * 2. A charge committed after the entry began belongs to a hold of this entry (no other store admits on this database, see
 *    postgres/memory-mode-lock.ts), and an entry with holds is never evicted. Its release brings a snapshot that includes it, in the
 *    same call that frees the hold. One that was freed without (its process died, or its release was lost on the way, and its quarantine is
 *    over or somebody released it who does not know) may have been charged before: the entry is untrusted again, and only who reads after
 *    that is believed. (A charge later than all of that is the exception: it takes no more than is left, DESIGN 3.)
 * 3. Snapshots are ordered by sequence, and the newest stays. So from (1) and (2) on, what is remembered only gets newer: a late, repeated
 *    or reordered snapshot changes nothing.
 * 4. Another epoch means that the database may have gone back, and sequences cannot be compared: the entry is untrusted again, everybody
 *    who was told before that has to be told again, and what comes back then replaces what was remembered. Holds stay as they are.
 */
export interface OrganizationState {
  epoch: string | undefined;
  trusted: boolean;
  sequence: number;
  balanceNanoUsd: NanoUsd;
  readonly spent: Map<UtcDay, Spent>;
  readonly keys: Map<string, KeyState>;
  /** One for each live hold. */
  slots: number;
  /** Those in quarantine too. */
  holds: number;
  heldNanoUsd: NanoUsd;
  readonly heldByDay: Map<UtcDay, NanoUsd>;
  readonly window: MinuteWindow;
  usedAtMs: number;
}

export interface KeyState {
  trusted: boolean;
  /** Holds-to-be that were told to read again since this entry and the organization's began. */
  readonly toldToRead: Set<string>;
  readonly spent: Map<UtcDay, Spent>;
  holds: number;
  readonly heldByDay: Map<UtcDay, NanoUsd>;
  readonly window: MinuteWindow;
  usedAtMs: number;
}

interface Spent {
  readonly sequence: number;
  readonly nanoUsd: NanoUsd;
}

export function newOrganization(): OrganizationState {
  return {
    epoch: undefined,
    trusted: false,
    sequence: -1,
    balanceNanoUsd: 0n,
    spent: new Map(),
    keys: new Map(),
    slots: 0,
    holds: 0,
    heldNanoUsd: 0n,
    heldByDay: new Map(),
    window: emptyWindow(),
    usedAtMs: 0,
  };
}

export function newKey(): KeyState {
  return {
    trusted: false,
    toldToRead: new Set(),
    spent: new Map(),
    holds: 0,
    heldByDay: new Map(),
    window: emptyWindow(),
    usedAtMs: 0,
  };
}

/** Takes an admission's snapshot in. False: it cannot be believed, the caller has to read again. */
export function believe(
  organization: OrganizationState,
  key: KeyState,
  snapshot: AccountSnapshot,
  holdId: string,
): boolean {
  if (organization.trusted && organization.epoch !== snapshot.ledgerEpoch) distrust(organization);
  if (!(organization.trusted && key.trusted)) {
    if (!key.toldToRead.delete(holdId)) {
      key.toldToRead.add(holdId);
      return false;
    }
    if (organization.epoch !== snapshot.ledgerEpoch) beginEpoch(organization, snapshot.ledgerEpoch);
    organization.trusted = true;
    key.trusted = true;
    key.toldToRead.clear();
  }
  remember(organization, key, snapshot);
  return true;
}

/**
 * Takes in what a settlement brought back. Of another epoch it cannot be kept, and its hold is freed all the same: whoever was told to read
 * may have read before that charge.
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

/** Forgets the spend of days that no admission asks for any more. */
export function forgetDaysBefore(spent: Map<UtcDay, Spent>, day: UtcDay): void {
  for (const known of spent.keys()) if (known < day) spent.delete(known);
}

function remember(organization: OrganizationState, key: KeyState | undefined, snapshot: AccountSnapshot): void {
  const account = snapshot.organization;
  if (account.sequence >= organization.sequence) {
    organization.sequence = account.sequence;
    organization.balanceNanoUsd = account.balanceNanoUsd;
  }
  rememberSpent(organization.spent, account);
  if (key) rememberSpent(key.spent, snapshot.key);
}

/** Each day has its own newest: a charge of yesterday's hold says nothing about today. */
function rememberSpent(
  spent: Map<UtcDay, Spent>,
  account: { readonly sequence: number; readonly day: UtcDay; readonly spentNanoUsd: NanoUsd },
): void {
  const known = spent.get(account.day);
  if (known && known.sequence > account.sequence) return;
  spent.set(account.day, { sequence: account.sequence, nanoUsd: account.spentNanoUsd });
}

/** Everybody has to read again, also who was told before. */
export function distrust(organization: OrganizationState): void {
  organization.trusted = false;
  for (const key of organization.keys.values()) key.toldToRead.clear();
}

function beginEpoch(organization: OrganizationState, epoch: string): void {
  organization.epoch = epoch;
  organization.sequence = -1;
  organization.spent.clear();
  for (const key of organization.keys.values()) {
    key.trusted = false;
    key.spent.clear();
  }
}

import type { UtcDay } from '../../../core/clock.ts';
import type { NanoUsd } from '../../../core/money.ts';
import type { AccountSnapshot } from '../../../core/principal.ts';
import { emptyWindow, type MinuteWindow } from './minute-window.ts';

/**
 * State of an organization or key in the store, and the rules by which it trusts a snapshot.
 *
 * Claim: at each admission the stored balance includes every charge of a hold that is no longer
 * held here. Proof, for an organization (a key's spend follows the same rules with its own state):
 * 1. A state begins untrusted. The first snapshot may have been read long ago, before charges whose
 *    holds were released under a state that was evicted since. So the store replies "read again".
 *    Only a caller with that reply can make the state trusted: it reads after the state began, so
 *    its snapshot has every charge that was committed before.
 * 2. A charge committed after the state began belongs to a hold of this state: no other store
 *    admits on this database (database/limits-ownership/memory-mode-lock.ts), and a state with
 *    holds is never evicted. The release of the hold brings a snapshot that includes the charge, in
 *    the same call that frees the hold. A hold may be freed without one: its process died, its
 *    release was lost and its quarantine is over, or a process released it that does not know of
 *    the charge. Then the state is untrusted again, and only later reads are trusted. (A charge
 *    later than all of that is the exception: it takes at most what is left, see docs/design.md,
 *    "Holds are leases".)
 * 3. Snapshots are ordered by sequence, and the newest stays. So from (1) and (2) on the state only
 *    gets newer: a late, repeated or reordered snapshot changes nothing.
 * 4. Another epoch means that the database may have gone back in time, and sequences cannot be
 *    compared: the state is untrusted again, every caller that was asked to read before is asked
 *    again, and the next snapshot replaces the state. Holds stay as they are.
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
  /** Number of holds, those in quarantine too. */
  holds: number;
  heldNanoUsd: NanoUsd;
  readonly heldByDay: Map<UtcDay, NanoUsd>;
  readonly window: MinuteWindow;
  usedAtMs: number;
}

export interface KeyState {
  trusted: boolean;
  /** Ids of callers that were asked to read again since this state and the organization's began. */
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

/** Takes an admission's snapshot in. False: it is not trusted, the caller has to read again. */
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
 * Takes in the snapshot of a settlement. A snapshot of another epoch cannot be kept, and its hold
 * is freed all the same: a caller that was asked to read may have read before that charge.
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

/** Requires every caller to read again, also callers that were asked before. */
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

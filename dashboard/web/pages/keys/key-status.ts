import type { KeyStateName, KeyView } from '#contract/keys.ts';
import { isExpiring, isInGroup, matchesSearch } from '#core/key-filter.ts';
import { hasEnded } from '../../keys/key-labels.ts';
import type { KeysState } from '../searches.ts';

/** `expiring`: the key works, but expires soon. `atMs` is the moment of expiry. */
export interface KeyStatus {
  readonly kind: KeyStateName | 'expiring';
  readonly atMs?: number | undefined;
}

export function keyStatus(key: KeyView, nowMs: number): KeyStatus {
  const { state, revokedAtMs, expiresAtMs } = key;
  switch (state) {
    case 'revoked':
    case 'revoking':
      return { kind: state, atMs: revokedAtMs };
    case 'expired':
      return { kind: state, atMs: expiresAtMs };
    case 'usable':
      return isExpiring(key, nowMs) ? { kind: 'expiring', atMs: expiresAtMs } : { kind: 'usable' };
  }
}

export function whyFixed({ state, mine, createdBy }: KeyView): string | undefined {
  if (state === 'revoked') return 'A revoked key stays revoked: create another one instead.';
  if (mine) return undefined;
  const who = createdBy === undefined ? 'Only owners' : `Only ${createdBy} and owners`;
  return `${who} of the organization may change this key.`;
}

/** Keys that have expired or are being replaced cannot be replaced. */
export function mayReplace(key: KeyView): boolean {
  return !hasEnded(key) && key.state !== 'revoking';
}

/** True if the key needs a later expiry. */
export function mayExtend(key: KeyView, nowMs: number): boolean {
  const { kind } = keyStatus(key, nowMs);
  return kind === 'expiring' || kind === 'expired';
}

export function filterKeys(keys: readonly KeyView[], { show = 'usable', search = '' }: KeysState, nowMs: number) {
  const found = keys.filter((key) => matchesSearch(key, search));
  return { shown: found.filter((key) => isInGroup(key, show, nowMs)), found: found.length };
}

const UNUSED_DAYS = 90;
const UNUSED_MS = UNUSED_DAYS * 86_400_000;
/** Bound of people in the choices. Others can be found by a search. */
const MOST_PEOPLE = 50;

export interface KeyChoice {
  readonly label: string;
  readonly ids: readonly string[];
}

export function isSelectable(key: KeyView): boolean {
  return whyFixed(key) === undefined;
}

/** A key that was never used counts as used when it was created. */
function isUnused({ lastUsedAtMs, createdAtMs }: KeyView, nowMs: number): boolean {
  return nowMs - (lastUsedAtMs ?? createdAtMs) > UNUSED_MS;
}

/** Choices that select at least one key: by state and use, and by owner, most keys first. */
export function keyChoices(keys: readonly KeyView[], shown: readonly KeyView[], nowMs: number) {
  const all = keys.filter(isSelectable);
  const choice = (label: string, chosen: readonly KeyView[]): KeyChoice => ({ label, ids: chosen.map(({ id }) => id) });
  const kinds = [
    choice('All keys of this list', shown.filter(isSelectable)),
    choice(
      'Expired',
      all.filter(({ state }) => state === 'expired'),
    ),
    choice(
      `Unused for ${UNUSED_DAYS} days`,
      all.filter((key) => !hasEnded(key) && isUnused(key, nowMs)),
    ),
  ];
  const byPerson = Map.groupBy(all, ({ createdBy = 'Command line' }) => createdBy);
  const people = [...byPerson].map(([person, own]) => choice(person, own));
  return {
    kinds: kinds.filter(({ ids }) => ids.length > 0),
    people: people.toSorted((a, b) => b.ids.length - a.ids.length).slice(0, MOST_PEOPLE),
  };
}

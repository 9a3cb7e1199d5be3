import type { KeyView } from '#contract/keys.ts';
import { hasEnded } from '../../keys/key-labels.ts';
import { whyFixed } from './key-status.ts';

const UNUSED_DAYS = 90;
const UNUSED_MS = UNUSED_DAYS * 86_400_000;
/** More people than these are found by a search. */
const MOST_PEOPLE = 50;

/** Keys that one choice selects. */
export interface KeyChoice {
  readonly label: string;
  readonly ids: readonly string[];
}

export interface KeyChoices {
  /** By their state and use. */
  readonly kinds: readonly KeyChoice[];
  /** By the person to whom they belong, those with the most keys first. */
  readonly people: readonly KeyChoice[];
}

/** True if the user may revoke the key. */
export function isSelectable(key: KeyView): boolean {
  return whyFixed(key) === undefined;
}

/** A key that was never used counts from its creation. */
function isUnused({ lastUsedAtMs, createdAtMs }: KeyView, nowMs: number): boolean {
  return nowMs - (lastUsedAtMs ?? createdAtMs) > UNUSED_MS;
}

/** Choices that select at least one key. */
export function keyChoices(keys: readonly KeyView[], shown: readonly KeyView[], nowMs: number): KeyChoices {
  const all = keys.filter(isSelectable);
  const choice = (label: string, chosen: readonly KeyView[]) => ({ label, ids: chosen.map(({ id }) => id) });
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

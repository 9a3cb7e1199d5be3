import type { Change, Setting, Settings } from '#contract/setting.ts';
import { mergedList } from '#core/merged-list.ts';

/** Values of a form. `undefined`: the box is empty. */
export type Draft<Values> = { readonly [Name in keyof Values]-?: Values[Name] | undefined };

export function draftOf<Values extends object>(settings: Settings<Values>, values: Partial<Values>): Draft<Values> {
  return Object.fromEntries(namesOf(settings).map((name) => [name, values[name]])) as Draft<Values>;
}

/** The record as the server expects it, without empty boxes. */
export function valuesOf<Values extends object>(settings: Settings<Values>, draft: Draft<Values>): Values {
  const filled = namesOf(settings).map((name) => [name, cleaned(settings[name], draft[name])] as const);
  return Object.fromEntries(filled.filter(([, value]) => value !== undefined)) as Values;
}

/**
 * Returns only the changed settings, so that concurrent changes are kept. An emptied box removes
 * the setting, or sets it to its default. A setting that has neither stays unchanged.
 */
export function changeOf<Values extends object>(
  settings: Settings<Values>,
  before: Partial<Values>,
  after: Draft<Values>,
): Change<Values> {
  const changes = namesOf(settings).flatMap((name) => {
    const setting: Setting = settings[name];
    const value = cleaned(setting, after[name]) ?? setting.default;
    const isKept = isSame(cleaned(setting, before[name]), value) || (value === undefined && setting.none === undefined);
    return isKept ? [] : [[name, value ?? null]];
  });
  return Object.fromEntries(changes) as Change<Values>;
}

/**
 * The draft after others' changes or a save. Boxes that were changed since `sent` keep what was
 * typed. What was added to a list, or removed, changes the list that was saved.
 */
export function draftAfterSave<Values extends object>(
  settings: Settings<Values>,
  saved: Partial<Values>,
  sent: Draft<Values>,
  now: Draft<Values>,
): Draft<Values> {
  const touched = namesOf(settings).filter((name) => !isSame(sent[name], now[name]));
  const kept = touched.map((name) => [name, merged(saved[name], sent[name], now[name])]);
  return { ...draftOf(settings, saved), ...Object.fromEntries(kept) };
}

function merged(saved: unknown, sent: unknown, now: unknown): unknown {
  const areLists = Array.isArray(saved) && Array.isArray(sent) && Array.isArray(now);
  return areLists ? mergedList(saved, sent, now) : now;
}

function namesOf<Values extends object>(settings: Settings<Values>): readonly (keyof Values)[] {
  return Object.keys(settings) as (keyof Values)[];
}

/** Trims texts. An empty text or list counts as absent, if the setting may be absent. */
function cleaned({ none }: Setting, value: unknown): unknown {
  const trimmed = typeof value === 'string' ? value.trim() : value;
  const isEmpty = trimmed === '' || (Array.isArray(trimmed) && trimmed.length === 0);
  return isEmpty && none !== undefined ? undefined : trimmed;
}

/** Compares lists as sets. */
function isSame(before: unknown, after: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(after)) return before === after;
  const known = new Set<unknown>(before);
  return known.size === new Set(after).size && after.every((item) => known.has(item));
}

import type { KeyView } from '#contract/keys.ts';
import type { ModelView } from '#contract/money.ts';
import type { Ability } from './model-labels.ts';

interface ModelFilter {
  readonly search?: string | undefined;
  readonly can?: Ability | undefined;
}

/** Available models first, then by id. `key` restricts them to the models of a key. */
export function filterModels(
  models: readonly ModelView[],
  { search = '', can }: ModelFilter,
  key: Pick<KeyView, 'models'> | undefined,
): readonly ModelView[] {
  const words = search.toLowerCase().split(/\s+/);
  return models
    .filter(({ id }) => words.every((word) => id.toLowerCase().includes(word)))
    .filter((model) => can === undefined || abilitiesOf(model).includes(can))
    .filter(({ id }) => key?.models === undefined || key.models.includes(id))
    .toSorted((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id, 'en'));
}

function abilitiesOf({ capabilities, reasoningEfforts }: ModelView): readonly string[] {
  return reasoningEfforts.length === 0 ? capabilities : [...capabilities, 'reasoning'];
}

/** A model for the first request with a key, or undefined. */
export function modelToTry(models: readonly ModelView[], key: Pick<KeyView, 'models'>): string | undefined {
  return filterModels(models, {}, key).find(({ state }) => state === 'available')?.id ?? key.models?.[0];
}

function rank({ state }: ModelView): number {
  return state === 'available' ? 0 : 1;
}

import { oneOf, type RawSearch, textOf } from '../../search/search-values.ts';

export const ABILITIES = ['tools', 'vision', 'json_mode', 'reasoning'] as const;
/** A capability, or `reasoning`: it accepts a reasoning effort. */
export type Ability = (typeof ABILITIES)[number];

export interface ModelsSearch {
  readonly search?: string | undefined;
  readonly can?: Ability | undefined;
  /** Only what this key may use. */
  readonly key?: string | undefined;
}

export function modelsSearch(raw: RawSearch): ModelsSearch {
  return { search: textOf(raw, 'search'), can: oneOf(raw, 'can', ABILITIES), key: textOf(raw, 'key') };
}

import { z } from 'zod';
import { queryText, readQuery } from './define-search.ts';
import { exploreSearch } from './explore-search.ts';
import { changeOf, type Empty, name } from './fields.ts';

const MAX_SEARCH_CHARACTERS = 4_000;
const tooLong = { error: 'These filters are too long to save.' };

/** Filters of a saved view, as in the page's address. Unknown parameters are dropped. */
const searchText = z
  .string({ error: 'This must be text.' })
  .max(MAX_SEARCH_CHARACTERS, tooLong)
  .transform((given) => queryText(exploreSearch(readQuery(given))))
  .refine(({ length }) => length <= MAX_SEARCH_CHARACTERS, tooLong);

export type SavedViewInput = Readonly<z.infer<typeof savedView>>;
export const savedView = z.strictObject({
  name,
  page: z.enum(['overview', 'requests'], { error: 'Overview or requests.' }),
  search: searchText,
});
export const savedViewChange = changeOf(savedView);

export interface SavedView extends SavedViewInput {
  readonly id: string;
  /** Email address, or `the operator`. Absent: the user no longer exists. */
  readonly createdBy?: string;
  readonly createdAtMs: number;
  /** True if the caller may change the view. */
  readonly mine: boolean;
}

/** Views of an organization, and the operators' views over all organizations. */
type Views = '/api/organizations/:organization/views' | '/api/views';

export type ViewsApi = Record<`GET ${Views}`, { query: Empty; response: { views: readonly SavedView[] } }> &
  Record<`POST ${Views}`, { body: SavedViewInput; response: SavedView }> &
  Record<`PATCH ${Views}/:view`, { body: z.infer<typeof savedViewChange>; response: SavedView }> &
  Record<`DELETE ${Views}/:view`, { body: Empty; response: SavedView }>;

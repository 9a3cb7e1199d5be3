import type { PlaceLimits } from '../fairness/places.ts';
import { tooManyPlaces } from './problem.ts';

export interface Table {
  readonly lines: AsyncIterable<string>;
  /** Frees the table's slot. May be called again. */
  end(): void;
}

/** An open table keeps up to 4 MB of text in memory while it waits for its reader. */
export const TABLE_PLACES: PlaceLimits = { ofUser: 2, ofOrganization: 3, ofAll: 16 };

export const tooManyTables = tooManyPlaces(
  'You are downloading two tables, or your organization three. Stop one or wait for it to end, then try again.',
  'Too many people are downloading tables. Try again in a few seconds.',
);

import { z } from 'zod';
import { isStorable } from '#core/visible-text.ts';
import {
  EXPLORE_RANKS,
  type Explore,
  type ExploreGrouping,
  GROUPINGS,
  isMetadataGrouping,
  MAX_DURATION_MS,
  MAX_FILTER_CHARACTERS,
  MAX_FILTER_VALUES,
  STATUS_CLASSES,
} from './explore.ts';
import { budgetNanoUsd, idOf, momentField, wholeNumberField } from './fields.ts';

/** A list is a repeated parameter in a URL, `models=a&models=b`. A single one is a list of one. */
function listOf<Item extends string>(item: z.ZodType<Item, string>) {
  const list = z.array(item).max(MAX_FILTER_VALUES, { error: `At most ${MAX_FILTER_VALUES} values.` });
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), list.readonly()).exactOptional();
}

const valueField = z
  .string()
  .max(MAX_FILTER_CHARACTERS, { error: `At most ${MAX_FILTER_CHARACTERS} characters.` })
  .refine(isStorable, { error: 'This contains characters that cannot be stored.' });

/**
 * One filter for charts, tables, the list of requests, its CSV and its live tail. All fields must
 * match. A list matches if one of its values does; an empty value, `''`, matches requests without
 * one: no code, no user, no provider, or no configured model.
 */
export type ExploreFilter = Readonly<z.infer<typeof exploreFilter>>;
export const exploreFilter = z.strictObject({
  fromMs: momentField.exactOptional(),
  /** Exclusive. */
  toMs: momentField.exactOptional(),
  keys: listOf(idOf('key')),
  models: listOf(valueField),
  /** Error codes. */
  codes: listOf(valueField),
  statusClasses: listOf(z.enum(STATUS_CLASSES, { error: `One of ${STATUS_CLASSES.join(', ')}.` })),
  /**
   * `failed` requests have an error code, even if their status is 200 and the stream broke. A
   * client that left before the response (status 499, no code) is neither.
   */
  outcome: z.enum(['succeeded', 'failed'], { error: 'succeeded or failed.' }).exactOptional(),
  /** The request's `user`, by which the client names its end user. */
  users: listOf(valueField),
  /**
   * `name=value` of the request's `metadata`; the name ends at the first `=`. Values of one name
   * are alternatives; different names must all match.
   */
  metadata: listOf(valueField.refine((value) => value.includes('='), { error: 'name=value.' })),
  providers: listOf(valueField),
  /** Only for operators, over all organizations. */
  organizations: listOf(idOf('org')),
  streamed: z.stringbool({ error: 'true or false.' }).exactOptional(),
  minCostNanoUsd: budgetNanoUsd.exactOptional(),
  minDurationMs: wholeNumberField(0, MAX_DURATION_MS).exactOptional(),
});

export type ExploreInput = Readonly<z.infer<typeof everyExploreInput>>;
/** For operators, over all organizations. */
export const everyExploreInput = exploreFilter.extend({
  fromMs: momentField,
  /** May be in the future, such as the end of the current day. */
  toMs: momentField,
  by: groupingOf(GROUPINGS),
  /** Default: spend. */
  rank: z.enum(EXPLORE_RANKS, { error: `One of ${EXPLORE_RANKS.join(', ')}.` }).exactOptional(),
  /** Adds `before`, the preceding range, to the response. */
  compare: z.stringbool().exactOptional(),
});
export const exploreInput = everyExploreInput
  .omit({ organizations: true })
  .extend({ by: groupingOf(GROUPINGS.filter((name) => name !== 'organization')) });

function groupingOf(names: readonly string[]) {
  return z.custom<ExploreGrouping>(
    (value) => typeof value === 'string' && (names.includes(value) || isMetadataGrouping(value)),
    { error: `One of ${names.join(', ')} and metadata.NAME.` },
  );
}

export interface ExploreApi {
  'GET /api/organizations/:organization/explore': { query: ExploreInput; response: Explore };
  /** Over all organizations. */
  'GET /api/explore': { query: ExploreInput; response: Explore };
}

import { z } from 'zod';
import { type ExploreFilter, MOST_FILTER_CHARACTERS, MOST_FILTER_VALUES, STATUS_CLASSES } from '#contract/explore.ts';
import { budgetNanoUsd, idOf, momentField, textField, wholeNumberField } from '#contract/fields.ts';
import type { RequestFilter, RequestPageInput } from '#contract/request-log.ts';
import { KEY_GROUPS } from '#core/key-filter.ts';

const MAX_DURATION_MS = 2 ** 31 - 1;

export type KeyFilter = z.infer<typeof keyFilter>;
export const keyFilter = z.strictObject({
  show: z.enum(KEY_GROUPS, { error: `One of: ${KEY_GROUPS.join(', ')}.` }).default('all'),
  search: textField.exactOptional(),
});

/** A list in a query is a parameter that is repeated; once is a list of one. */
function listOf<Item extends string>(item: z.ZodType<Item, string>) {
  const list = z.array(item).max(MOST_FILTER_VALUES, { error: `At most ${MOST_FILTER_VALUES} values.` });
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), list).exactOptional();
}

/** Empty text matches what has none. */
const valueField = z
  .string()
  .max(MOST_FILTER_CHARACTERS, { error: `At most ${MOST_FILTER_CHARACTERS} characters.` })
  .refine((value) => !value.includes('\0') && value.isWellFormed(), { error: 'This is no text.' });

/** The filter of the explorer, but for organizations. */
export const EXPLORE_FIELDS = {
  fromMs: momentField.exactOptional(),
  toMs: momentField.exactOptional(),
  keys: listOf(idOf('key')),
  models: listOf(valueField),
  codes: listOf(valueField),
  statusClasses: listOf(z.enum(STATUS_CLASSES, { error: `One of ${STATUS_CLASSES.join(', ')}.` })),
  outcome: z.enum(['succeeded', 'failed'], { error: 'succeeded or failed.' }).exactOptional(),
  users: listOf(valueField),
  metadata: listOf(valueField.refine((value) => value.includes('='), { error: 'name=value.' })),
  providers: listOf(valueField),
  streamed: z.stringbool({ error: 'true or false.' }).exactOptional(),
  minCostNanoUsd: budgetNanoUsd.exactOptional(),
  minDurationMs: wholeNumberField(0, MAX_DURATION_MS).exactOptional(),
} satisfies Record<Exclude<keyof ExploreFilter, 'organizations'>, z.ZodType>;

export const allOrganizations = { organizations: listOf(idOf('org')) };

const REQUEST_FIELDS = { ...EXPLORE_FIELDS, search: textField.exactOptional() };
const PAGE_FIELDS = { ...REQUEST_FIELDS, before: idOf('log').exactOptional(), after: idOf('log').exactOptional() };

export const requestFilter: z.ZodType<RequestFilter> = z.strictObject(REQUEST_FIELDS);
export const requestPageInput: z.ZodType<RequestPageInput> = z.strictObject(PAGE_FIELDS);
/** For operators, over all organizations. */
export const everyRequestFilter: z.ZodType<RequestFilter> = z.strictObject({ ...REQUEST_FIELDS, ...allOrganizations });
export const everyRequestInput: z.ZodType<RequestPageInput> = z.strictObject({ ...PAGE_FIELDS, ...allOrganizations });

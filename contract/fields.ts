import { z } from 'zod';
import { DAY_MS, utcDayText } from '#core/clock.ts';
import { normalizeEmail } from '#core/email-address.ts';
import {
  isModelId,
  MAX_COUNT,
  MAX_LIST_LENGTH,
  MAX_NAME_CHARACTERS,
  MAX_NOTE_CHARACTERS,
  MAX_TOKENS_PER_MINUTE,
  PRICE_LIST_NAME,
} from '#core/field-bounds.ts';
import { type IdPrefix, isIdOf } from '#core/id-form.ts';
import { MAX_AMOUNT_NANO_USD } from '#core/money.ts';
import { isIpRange } from '#core/net/ip-ranges.ts';
import { hidesSomething, isStorable, showsSomething } from '#core/visible-text.ts';
import type { Change } from './setting.ts';

/**
 * Parts of the schemas of request bodies and queries, within the bounds of the database. The page
 * shows the messages beside the fields. It imports only types, because Zod would exceed its size
 * limit.
 */

const MAX_NANO_DIGITS = 19;
/** End of the year 9999: the last moment that date fields and PostgreSQL can show. */
const MAX_MOMENT_MS = 253_402_300_799_999;

/** An empty query, body or response. */
export type Empty = Readonly<Record<never, never>>;
export const nothing: z.ZodType<Empty> = z.strictObject({});

/** Only visible characters, so that texts that look equal almost always are equal. */
export function text(maxLength: number) {
  return z
    .string({ error: 'This must be text.' })
    .trim()
    .min(1, { error: 'This must not be empty.' })
    .max(maxLength, { error: `At most ${maxLength} characters.` })
    .refine((value) => !hidesSomething(value), { error: 'One of these characters is invisible. Type it again.' })
    .refine((value) => value === '' || showsSomething(value), { error: 'This text is invisible.' });
}

export const name = text(MAX_NAME_CHARACTERS);
export const note = text(MAX_NOTE_CHARACTERS);
export const priceListName = z.string().regex(PRICE_LIST_NAME, { error: 'This is not the name of a price list.' });

export function idOf(prefix: IdPrefix) {
  return z.string().refine((value) => isIdOf(prefix, value), { error: 'This is not a valid id.' });
}

export const email = z.string({ error: 'This must be text.' }).transform((value, context) => {
  const address = normalizeEmail(value);
  if (address !== undefined) return address;
  context.addIssue({ code: 'custom', message: 'This is not an email address.' });
  return z.NEVER;
});

export function wholeNumber(min: number, max: number) {
  const form = `A whole number from ${min} to ${max}.`;
  return z.int({ error: form }).min(min, { error: form }).max(max, { error: form });
}

export const yesOrNo = z.boolean({ error: 'Yes or no.' });
export const memberRole = z.enum(['owner', 'member'], { error: 'Owner or member.' });
export const requestsPerMinute = wholeNumber(1, MAX_COUNT);
export const tokensPerMinute = wholeNumber(1, MAX_TOKENS_PER_MINUTE);

/** Routes check whether the moment is in the future, because only they have a clock. */
export const momentMs = wholeNumber(0, MAX_MOMENT_MS);

/** Nano-dollars as decimal text, zero or more. */
export const budgetNanoUsd = amount(/^\d+$/);

/** Nano-dollars as decimal text, of either sign. */
export const creditNanoUsd = amount(/^-?\d+$/);

function amount(form: RegExp) {
  return z
    .string({ error: 'This must be an amount.' })
    .refine((value) => value.length <= MAX_NANO_DIGITS + 1 && form.test(value) && isAmount(BigInt(value)), {
      error: 'This is not an amount, or it is too large.',
    });
}

function isAmount(nanoUsd: bigint): boolean {
  return nanoUsd <= MAX_AMOUNT_NANO_USD && nanoUsd >= -MAX_AMOUNT_NANO_USD;
}

export const modelIds = listOf(z.string().refine(isModelId, { error: 'One of these is not a model id.' }), 'models');

export const ipRanges = listOf(
  z
    .string()
    .trim()
    .refine(isIpRange, {
      error: (issue) => `${shown(issue.input)} is neither an address nor a range like 10.0.0.0/8.`,
    }),
  'addresses',
);

/** Changes of a record, from the schema of its settings. */
export function changeOf<Settings extends object>(
  settings: z.ZodType<Settings> & { readonly shape: z.ZodRawShape },
): z.ZodType<Change<Settings>> {
  const fields = Object.entries(settings.shape).map(([name, field]) => [
    name,
    z.exactOptional(field instanceof z.ZodExactOptional ? z.nullable(field.unwrap()) : field),
  ]);
  return z.strictObject(Object.fromEntries(fields)) as unknown as z.ZodType<Change<Settings>>;
}

/** A list without duplicates. Empty is refused: it would lock all out. Absent: unrestricted. */
function listOf(item: z.ZodType<string, string>, what: string) {
  return z
    .array(item, { error: `This must be a list of ${what}.` })
    .min(1, { error: `Choose at least one, or do not restrict ${what}.` })
    .max(MAX_LIST_LENGTH, { error: `At most ${MAX_LIST_LENGTH} ${what}.` })
    .transform((items): readonly string[] => [...new Set(items)]);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `“${value.slice(0, 50)}”` : 'This';
}

/** Longest text in a query. Numbers in a query arrive as text and are parsed here. */
const MAX_QUERY_TEXT = 200;
/** Ids encode their time of creation in 48 bits of milliseconds. */
const MAX_ID_MS = 2 ** 48 - 1;

/** Text that must match exactly, such as models, codes and searches, so it is not trimmed. */
export const textField = z
  .string()
  .min(1, { error: 'This must not be empty.' })
  .max(MAX_QUERY_TEXT, { error: `At most ${MAX_QUERY_TEXT} characters.` })
  .refine(isStorable, { error: 'This contains characters that cannot be stored.' });

export function wholeNumberField(min: number, max: number) {
  const error = `A whole number from ${min} to ${max}.`;
  return z
    .string()
    .regex(/^\d{1,16}$/, { error })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error });
}

/** Unix milliseconds. */
export const momentField = wholeNumberField(0, MAX_ID_MS);

/** `2026-11-21`, UTC. */
export const dayField = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, { error: 'A date such as 2026-11-21.' })
  .refine(isDay, { error: 'There is no such day.' });

/** Date.parse() would accept February 30 as March 2. */
function isDay(text: string): boolean {
  const day = dayOf(text);
  return Number.isInteger(day) && utcDayText(day) === text;
}

export function dayOf(text: string): number {
  return Date.parse(`${text}T00:00:00Z`) / DAY_MS;
}

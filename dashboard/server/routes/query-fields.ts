import { z } from 'zod';
import { DAY_MS, utcDayText } from '#core/clock.ts';

/** Schemas of URL queries. Values arrive as text; numbers are parsed here. All have bounds. */

const MAX_TEXT = 200;
/** Ids encode their milliseconds in 48 bits. */
const MAX_MOMENT_MS = 2 ** 48 - 1;

/** Text as its author wrote it: models, codes, searches. */
export const textField = z
  .string()
  .min(1, { error: 'This must not be empty.' })
  .max(MAX_TEXT, { error: `At most ${MAX_TEXT} characters.` })
  .refine((value) => !value.includes('\0') && value.isWellFormed(), { error: 'This is no text.' });

export function wholeNumberField(min: number, max: number) {
  const error = `A whole number from ${min} to ${max}.`;
  return z
    .string()
    .regex(/^\d{1,16}$/, { error })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error });
}

/** Unix milliseconds. */
export const momentField = wholeNumberField(0, MAX_MOMENT_MS);

/** `2026-11-21`, UTC. */
export const dayField = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, { error: 'A date such as 2026-11-21.' })
  .refine(isDay, { error: 'There is no such day.' });

/** Date.parse reads the 30th of February as the 2nd of March. */
function isDay(text: string): boolean {
  const day = dayOf(text);
  return Number.isInteger(day) && utcDayText(day) === text;
}

export function dayOf(text: string): number {
  return Date.parse(`${text}T00:00:00Z`) / DAY_MS;
}

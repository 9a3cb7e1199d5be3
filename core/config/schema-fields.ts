import { z } from 'zod';
import { formatDuration, formatSize, parseDuration, parseSize } from './quantities.ts';

/** Kinds of fields. Each message has the accepted form, none the value: it may be secret. */

function must(accepted: string) {
  return {
    error: (issue: { readonly input?: unknown }) =>
      issue.input === undefined ? `is required: ${accepted}` : `must be ${accepted}`,
  };
}

export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `is not a known field; accepted here: ${names}`
        : issue.input === undefined
          ? `is required: a mapping of ${names}`
          : `must be a mapping of ${names}`,
  });
}

/** Text or a number, read by `parse`. Editors show the description (config/gateway.schema.json). */
export function read<Value>(accepted: string, parse: (value: string | number) => Value | undefined) {
  return z.union([z.string(), z.number()], must(accepted)).describe(accepted).transform(parsing(accepted, parse));
}

export function readText<Value>(accepted: string, parse: (value: string) => Value | undefined) {
  return z.string(must(accepted)).describe(accepted).transform(parsing(accepted, parse));
}

function parsing<Input, Value>(accepted: string, parse: (value: Input) => Value | undefined) {
  return (value: Input, context: z.RefinementCtx): Value => {
    const result = parse(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: `must be ${accepted}` });
    return z.NEVER;
  };
}

export function matching(pattern: RegExp, accepted: string) {
  const isFitting = (value: unknown) => /^(?:number|boolean)$/.test(typeof value) && pattern.test(String(value));
  const error = (issue: { readonly input?: unknown }) =>
    isFitting(issue.input)
      ? `must be ${accepted}; quote it, else it is a ${typeof issue.input}`
      : must(accepted).error(issue);
  return z.string({ error }).regex(pattern, must(accepted)).describe(accepted);
}

/** Also accepts digits in text, so that `${WORKERS}` can be a number. */
export function whole(min: number, max: number) {
  return read(`a whole number from ${min} to ${max}`, (value) => {
    const number = typeof value === 'number' ? value : /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return Number.isInteger(number) && number >= min && number <= max ? number : undefined;
  });
}

export function size(min: number, max: number) {
  const accepted = `a size from ${formatSize(min)} to ${formatSize(max)}, such as 20MiB, 64KB or 1048576 (bytes)`;
  return read(accepted, (value) => {
    const bytes = parseSize(value);
    return bytes !== undefined && bytes >= min && bytes <= max ? bytes : undefined;
  });
}

/** Text only: a number would have no unit. `orNever`: 0s is accepted too. */
export function duration(min: number, max: number, orNever?: 'or never') {
  const accepted = `${orNever ? '0s, or ' : ''}a duration from ${formatDuration(min)} to ${formatDuration(max)}, such as 250ms, 120s, 15m or 24h`;
  return readText(accepted, (value) => {
    const ms = parseDuration(value);
    return ms !== undefined && ((ms >= min && ms <= max) || (ms === 0 && orNever)) ? ms : undefined;
  });
}

export const flag = z
  .union([z.boolean(), z.literal('true'), z.literal('false')], must('true or false'))
  .transform((value) => value === true || value === 'true');

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, must(`one of ${values.join(', ')}`));
}

export function list<Item extends z.ZodType>(item: Item, min: number, max: number, accepted: string) {
  const error = must(`a list of ${min === 0 ? 'at most' : `${min} to`} ${max} ${accepted}`);
  return z.array(item, error).min(min, error).max(max, error);
}

/** A mapping from names of the operator's choice. */
export function named<Value extends z.ZodType>(name: z.ZodType<string, string>, value: Value, accepted: string) {
  return z.record(name, value, {
    error: (issue) =>
      issue.code === 'invalid_key' ? `is not ${accepted}` : `must be a mapping; each name is ${accepted}`,
  });
}

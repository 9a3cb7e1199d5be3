import { z } from 'zod';
import { isObject } from '../json-object.ts';
import type { RequestShaping } from './gateway-config.ts';
import type { RuleProblem } from './problem.ts';
import { list, matching, named, readText, section } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** `request` of a provider and of a target: changes of the body that is sent to a provider. */

/** Fields that the gateway sets or counts, in every API. Changing one breaks requests or holds. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'input', 'instructions', 'system', 'stream', 'stream_options', 'n', 'tools'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
]);

export const isOwnField = (name: string): boolean => OWN_FIELDS.has(name);

const MAX_FIELDS = 64;
const MAX_VALUE_BYTES = 65_536;
const FIELD_NAME =
  'the name of a request field, and none that the gateway sets or counts (model, messages, input, instructions, system, stream, stream_options, n, tools, the output limit)';
const fieldName = readText(FIELD_NAME, (name) =>
  /^[\x21-\x7e]{1,64}$/.test(name) && !isOwnField(name) ? name : undefined,
);

const VALUE = `a JSON value of at most ${MAX_VALUE_BYTES} bytes`;
const jsonValue = z.unknown().transform((value, context): string => {
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'number' && !Number.isFinite(part))
      context.addIssue({ code: 'custom', message: `must be ${VALUE}` });
    return part;
  });
  if (text !== undefined && Buffer.byteLength(text) <= MAX_VALUE_BYTES) return text;
  context.addIssue({ code: 'custom', message: `must be ${VALUE}` });
  return z.NEVER;
});

const role = matching(/^[a-z_]{1,32}$/, 'a role such as system: 1 to 32 of a-z and "_"');

export const requestShaping = section({
  drop: list(fieldName, 0, MAX_FIELDS, 'names of request fields').prefault([]),
  rename: named(fieldName, fieldName, FIELD_NAME).prefault({}),
  set: named(fieldName, jsonValue, FIELD_NAME).prefault({}),
  set_with_tools: named(fieldName, jsonValue, FIELD_NAME).prefault({}),
  roles: named(role, role, 'a role such as developer').prefault({}),
});

export type ShapingEntry = z.output<typeof requestShaping>;

/** True if a provider is never sent the `service_tier` that a client asks for. */
export function fixesServiceTier(shaping: ShapingEntry | undefined): boolean {
  return shaping !== undefined && (shaping.drop.includes('service_tier') || shaping.set.service_tier !== undefined);
}

/** Rules between the fields of a `request`, for a provider with this `output_limit_field`. */
export function checkShaping(
  path: Path,
  shaping: ShapingEntry | undefined,
  outputLimitField: string | undefined,
): RuleProblem[] {
  if (shaping === undefined) return [];
  const { drop, rename, set, set_with_tools } = shaping;
  const problems: RuleProblem[] = [];
  const check = (name: string, ...place: Path) => {
    if (name === outputLimitField) problems.push({ path: [...path, ...place], message: `must be ${FIELD_NAME}` });
  };
  for (const [index, name] of drop.entries()) check(name, 'drop', index);
  const targets = Object.values(rename);
  for (const [index, [from, to]] of Object.entries(rename).entries()) {
    check(from, 'rename', from);
    check(to, 'rename', from);
    if (targets.indexOf(to) < index)
      problems.push({ path: [...path, 'rename', from], message: 'names a field onto which another is renamed' });
  }
  for (const name of Object.keys(set)) check(name, 'set', name);
  for (const name of Object.keys(set_with_tools)) check(name, 'set_with_tools', name);
  for (const [field, { length }] of Object.entries({
    rename: targets,
    set: Object.keys(set),
    set_with_tools: Object.keys(set_with_tools),
  })) {
    if (length > MAX_FIELDS)
      problems.push({ path: [...path, field], message: `must have at most ${MAX_FIELDS} fields` });
  }
  return problems;
}

/** Fields that are an effort, or have one: of chat completions, Responses and Messages. */
const EFFORT_FIELDS = ['reasoning_effort', 'reasoning', 'output_config'];

/** The efforts that `set_with_tools` gives a request, unless a later step replaces them. */
export function effortsWithTools(...entries: readonly (ShapingEntry | undefined)[]): readonly string[] {
  return EFFORT_FIELDS.flatMap((field) => {
    let json: string | undefined;
    for (const entry of entries) {
      if (entry === undefined) continue;
      const isReplaced =
        entry.drop.includes(field) || entry.rename[field] !== undefined || entry.set[field] !== undefined;
      json = entry.set_with_tools[field] ?? (isReplaced ? undefined : json);
    }
    const value: unknown = json === undefined ? undefined : JSON.parse(json);
    const effort = isObject(value) ? value.effort : value;
    return typeof effort === 'string' ? [effort] : [];
  });
}

/** The shaping as the configuration has it, without its empty parts. */
export function shapingJson({ set, set_with_tools, ...rest }: ShapingEntry): object {
  const parsed = (fields: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, JSON.parse(text)]));
  const parts = { ...rest, set: parsed(set), set_with_tools: parsed(set_with_tools) };
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => Object.keys(part).length > 0));
}

/** The shaping of a target: its provider's, then its own. Empty if both change nothing. */
export function compileShaping(...entries: readonly (ShapingEntry | undefined)[]): readonly RequestShaping[] {
  return entries.flatMap((entry) => {
    if (entry === undefined) return [];
    const { drop, rename, set, set_with_tools, roles } = entry;
    const shaping = {
      drop: new Set(drop),
      rename: new Map(Object.entries(rename)),
      set: new Map(Object.entries(set)),
      setWithTools: new Map(Object.entries(set_with_tools)),
      roles: new Map(Object.entries(roles)),
    };
    return Object.values(shaping).every(({ size }) => size === 0) ? [] : [shaping];
  });
}

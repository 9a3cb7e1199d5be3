import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Door } from './door.ts';

/** Members whose content may have any names. `input` is the input of a call. */
const FREE: ReadonlySet<string> = new Set([
  ...['parameters', 'input_schema', 'schema', 'arguments', 'input', 'input_examples'],
]);

/** Members with a word or an id, which the chat form may lack. Longer values are not accepted. */
const WORDS: ReadonlySet<string> = new Set([
  ...['id', 'status', 'role', 'detail', 'phase', 'summary', 'generate_summary', 'mode', 'ttl', 'display', 'syntax'],
  ...['allowed_callers', 'exclude_tools', 'media_type', 'context'],
]);
const LONGEST_WORD = 96;

/** Fields that are removed or replaced before a body is passed on. */
const OWN: ReadonlySet<string> = new Set(['metadata', 'client_metadata']);

/**
 * True if every object of a body has only members that are in `Door.knownMembers`, with the same
 * case. The door has not checked others, so a body with them is not passed on.
 */
export function hasOnlyKnown(body: JsonObject, { fields, knownMembers }: Door): boolean {
  return Object.entries(body).every(
    ([name, value]) => OWN.has(name) || !fields.has(name) || isKnown(value, name, knownMembers),
  );
}

function isKnown(value: unknown, within: string, known: Door['knownMembers']): boolean {
  if (Array.isArray(value)) return value.every((one) => isKnown(one, within, known));
  if (!isObject(value)) return typeof value !== 'string' || value.length <= LONGEST_WORD || !WORDS.has(within);
  const members = known.get(typeof value.type === 'string' ? value.type : `.${within}`);
  return Object.entries(value).every(([name, member]) => {
    if (member === null || (Array.isArray(member) && member.length === 0)) return true;
    return members?.has(name) === true && (FREE.has(name) || isKnown(member, name, known));
  });
}

/** `lists`: names of members, divided by spaces, by the keys of `Door.knownMembers`. */
export function knownMembers(lists: Readonly<Record<string, string>>): Door['knownMembers'] {
  return new Map(Object.entries(lists).map(([type, names]) => [type, new Set(['type', ...names.split(' ')])]));
}

import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Door } from './door.ts';

/** Members whose content has names of its own. `input` is that of a call. */
const FREE: ReadonlySet<string> = new Set([
  ...['parameters', 'input_schema', 'schema', 'arguments', 'input', 'input_examples'],
]);

/** Members with a word or an id, which the chat form may lack. A longer one is none. */
const WORDS: ReadonlySet<string> = new Set([
  ...['id', 'status', 'role', 'detail', 'phase', 'summary', 'generate_summary', 'mode', 'ttl', 'display', 'syntax'],
  ...['allowed_callers', 'exclude_tools', 'media_type', 'context'],
]);
const LONGEST_WORD = 96;

/** Fields that no provider gets, or not as they are. */
const OWN: ReadonlySet<string> = new Set(['metadata', 'client_metadata']);

/**
 * True if every object of a body has only members that its door knows, by `Door.knownMembers`, in
 * their very case. The door has not judged others, so no body with them passes.
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

/** Members as a text, for each type, or member that has an object without one. */
export function knownMembers(lists: Readonly<Record<string, string>>): Door['knownMembers'] {
  return new Map(Object.entries(lists).map(([type, names]) => [type, new Set(['type', ...names.split(' ')])]));
}

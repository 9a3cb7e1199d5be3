import { withoutKeys } from '#core/key-secret.ts';
import { noteCacheWrites } from './cache-writes.ts';
import { type FieldRule, invalidField } from './chat-facts.ts';
import { shortText } from './value-rules.ts';

/** Refuses a field with any value. `why` ends the sentence that begins with the field. */
export const notOffered =
  (why: string): FieldRule =>
  (_cursor, _facts, field) =>
    invalidField(field, why);

/** Stored prompts would be in the operator's account, where the customer cannot delete them. */
export const checkStore: FieldRule = (cursor, _facts, field) => {
  if (cursor.kind() !== 'boolean') return invalidField(field, 'must be true or false');
  return cursor.boolean() ? invalidField(field, 'must be false: completions are not stored at providers') : undefined;
};

/** Limits of the official API, in characters (code points). */
const MOST_METADATA = 16;
const LONGEST_NAME = 64;
const LONGEST_VALUE = 512;

/** `metadata` is stored in the request log, without API keys and NUL (for PostgreSQL), not sent. */
export const checkMetadata: FieldRule = (cursor, facts, field) => {
  if (cursor.kind() !== 'object') return invalidField(field, 'must be an object');
  const members = new Map<string, string>();
  const refusal = cursor.eachMember(() => {
    const name = cursor.keyText(2 * LONGEST_NAME + 1);
    if ([...name].length > LONGEST_NAME)
      return invalidField(field, `must have names of at most ${LONGEST_NAME} characters`);
    const value = shortText(cursor, LONGEST_VALUE);
    if (value === undefined) return invalidField(field, `must have strings of at most ${LONGEST_VALUE} characters`);
    members.set(storable(name), storable(value));
    return members.size > MOST_METADATA ? invalidField(field, `must have at most ${MOST_METADATA} members`) : undefined;
  });
  if (refusal) return refusal;
  if (members.size > 0) facts.metadata = JSON.stringify(Object.fromEntries(members));
  return undefined;
};

function storable(text: string): string {
  return withoutKeys(text.replaceAll('\0', '\ufffd'));
}

const LONGEST_TIER = 64;

/**
 * `auto` would let the operator's project at the provider choose a tier with another price, so it
 * is sent as `default`. check-model.ts checks other tiers.
 */
export const checkServiceTier: FieldRule = (cursor, facts, field) => {
  const tier = shortText(cursor, LONGEST_TIER);
  if (tier === undefined) return invalidField(field, `must be a string of at most ${LONGEST_TIER} characters`);
  facts.serviceTier = tier === 'auto' ? 'default' : tier;
  return undefined;
};

/** A field that requests cache writes, for which a model needs a price. */
export function cacheRule(kind: 'object' | 'string'): FieldRule {
  return (cursor, facts, field) => {
    if (cursor.kind() !== kind) return invalidField(field, `must be ${kind === 'object' ? 'an object' : 'a string'}`);
    return noteCacheWrites(facts, cursor, field);
  };
}

/** `["text"]` is the default, and is not sent. */
export const checkModalities: FieldRule = (cursor, _facts, field) => {
  const requirement = 'must be ["text"]: completions are text';
  if (cursor.kind() !== 'array') return invalidField(field, requirement);
  let elements = 0;
  const refusal = cursor.eachElement(() => {
    elements++;
    const isText = cursor.kind() === 'string' && cursor.word() === 'text';
    return isText ? undefined : invalidField(field, requirement);
  });
  return refusal ?? (elements === 1 ? undefined : invalidField(field, requirement));
};

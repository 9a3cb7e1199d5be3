import { type ChatFacts, type FieldRule, invalidField } from './chat-facts.ts';
import type { JsonCursor } from './json/json-cursor.ts';

interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
}

export type Note<Value> = (value: Value, facts: ChatFacts, field: string) => void;

export function numberRule({ min, max, integer = false }: NumberBounds, note?: Note<number>): FieldRule {
  const requirement = `must be ${integer ? 'an integer' : 'a number'} from ${min} to ${max}`;
  return (cursor, facts, field) => {
    if (cursor.kind() !== 'number') return invalidField(field, requirement);
    const value = cursor.number();
    if (value < min || value > max || (integer && !Number.isInteger(value))) return invalidField(field, requirement);
    note?.(value, facts, field);
    return undefined;
  };
}

/** Accepts an integer of any size, because providers accept different ranges. */
export function integerRule(...[cursor, , field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  const isInteger = cursor.kind() === 'number' && Number.isInteger(cursor.number());
  return isInteger ? undefined : invalidField(field, 'must be an integer');
}

export function booleanRule(note?: Note<boolean>): FieldRule {
  return (cursor, facts, field) => {
    if (cursor.kind() !== 'boolean') return invalidField(field, 'must be true or false');
    note?.(cursor.boolean(), facts, field);
    if (!note) cursor.skip();
    return undefined;
  };
}

/** Accepts a string of at most `longest` characters. */
export function textRule(longest: number, note?: Note<string>): FieldRule {
  return (cursor, facts, field) => {
    const text = shortText(cursor, longest);
    if (text === undefined) return invalidField(field, `must be a string of at most ${longest} characters`);
    note?.(text, facts, field);
    return undefined;
  };
}

/**
 * Reads the string at the cursor. `undefined`: another kind of value, or a longer string. A code
 * point is one or two UTF-16 units.
 */
export function shortText(cursor: JsonCursor, longest: number): string | undefined {
  if (cursor.kind() !== 'string') return undefined;
  const text = cursor.text(2 * longest + 1);
  return text.length <= longest || [...text].length <= longest ? text : undefined;
}

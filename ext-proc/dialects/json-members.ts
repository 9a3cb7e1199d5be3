import { skipSpace, stringEnd } from '#core/parse-json.ts';

/**
 * A top-level member in the text of a JSON object. Edits keep all other members byte for byte.
 * Parsing and serializing the object would change integers above 2^53, the order of numeric keys,
 * and how numbers and escapes are written.
 */
export interface Member {
  readonly name: string;
  /** Position of the name's first quote. */
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** New value as JSON text by name; `undefined` removes the member. */
export type MemberEdits = Readonly<Record<string, string | undefined>>;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * The members of an object that JSON.parse has accepted; the scan does not check the grammar again.
 * Throws an Error if the text ends within a member, which is a bug of the caller.
 */
export function membersOf(text: string): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, text.indexOf('{') + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = stringEnd(text, at);
    const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ name: nameIn(text, at, nameEnd), start: at, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return members;
}

/**
 * Edits members of an object. Members that it lacks are added at its end. Every member of a
 * repeated name is edited, because readers disagree on which one counts.
 */
export function editObject(text: string, edits: MemberEdits, members: readonly Member[] = membersOf(text)): string {
  const found = new Set<string>();
  let edited = '';
  // The members that are kept since the last edit, copied as one piece.
  let keptStart = NOWHERE;
  let keptEnd = 0;
  for (const { name, start, valueStart, valueEnd } of members) {
    if (keptStart === NOWHERE) {
      keptStart = start;
      keptEnd = start;
    }
    if (!Object.hasOwn(edits, name)) {
      keptEnd = valueEnd;
      continue;
    }
    found.add(name);
    const value = edits[name];
    if (value !== undefined) edited = joined(edited, text.slice(keptStart, valueStart) + value);
    else if (keptEnd > keptStart) edited = joined(edited, text.slice(keptStart, keptEnd));
    keptStart = NOWHERE;
  }
  if (keptStart !== NOWHERE) edited = joined(edited, text.slice(keptStart, keptEnd));
  for (const name in edits) {
    const value = edits[name];
    if (value !== undefined && !found.has(name)) edited = joined(edited, `${JSON.stringify(name)}:${value}`);
  }
  return `{${edited}}`;
}

const NOWHERE = -1;

function joined(before: string, member: string): string {
  return before === '' ? member : `${before},${member}`;
}

function nameIn(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? String(JSON.parse(text.slice(start, end))) : raw;
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return stringEnd(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return compositeEnd(text, start);
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_BRACE || code <= 0x20) return at;
  }
  throw endsWithin();
}

function compositeEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
      continue;
    }
    at++;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at;
  }
  throw endsWithin();
}

/** Deepest nesting of objects and lists that is written again. No model writes as much. */
const MOST_DEPTH = 500;

/** True if a text that JSON.parse has accepted is nested too deeply for JSON.stringify to write. */
export function isNestedDeeply(text: string): boolean {
  if (text.length <= 2 * MOST_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    if (depth > MOST_DEPTH) return true;
  }
  return false;
}

function endsWithin(): Error {
  return new Error('no JSON object: the text ends within it');
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#core/parse-json.ts';
import { JsonCursor } from './json-cursor.ts';
import { JsonScan } from './json-scan.ts';

/** Longer than any text here. */
const WHOLE = 100_000;

function scanned(text: string) {
  const scan = new JsonScan(Buffer.from(text));
  while (!scan.step());
  const result = scan.result();
  if (result.kind === 'problem') throw new Error(result.problem);
  return result;
}

function cursorIn(text: string): JsonCursor {
  const result = scanned(text);
  if (result.hasReplaced) result.tape.blankReplaced(result.bytes);
  return new JsonCursor(result);
}

/** At the value of the only member. */
function cursorAt(value: string): JsonCursor {
  const cursor = cursorIn(`{"value":${value}}`);
  cursor.eachMember(() => true);
  return cursor;
}

/**
 * Reads a whole value through the cursor; `leave` makes it step over values instead, which then are
 * missing.
 */
function readAll(cursor: JsonCursor, leave: (depth: number) => boolean = () => false, depth = 0): unknown {
  if (leave(depth)) {
    cursor.skip();
    return 'left out';
  }
  switch (cursor.kind()) {
    case 'object': {
      const members: [string, unknown][] = [];
      cursor.eachMember(() => void members.push([cursor.keyText(WHOLE), readAll(cursor, leave, depth + 1)]));
      return Object.fromEntries(members);
    }
    case 'array': {
      const elements: unknown[] = [];
      cursor.eachElement(() => void elements.push(readAll(cursor, leave, depth + 1)));
      return elements;
    }
    case 'string':
      return cursor.text(WHOLE);
    case 'number':
      return cursor.number();
    case 'boolean':
      return cursor.boolean();
    case 'null':
      cursor.skip();
      return null;
  }
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\n'), maxLength: 300 }),
  fc.constantFrom('role', 'content', 'user', 'x'.repeat(500), `${'\\'.repeat(301)}"`),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    text,
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('any')),
  object: fc.dictionary(text, tie('any')),
})).any;

describe('JsonCursor', () => {
  it('reads values of JSON.stringify, and stops behind them', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, '\t', ' \n'), (wanted, indent) => {
        const cursor = cursorAt(`${JSON.stringify(wanted, null, indent)}, "end":17`);
        expect(JSON.stringify(readAll(cursor))).toBe(JSON.stringify(wanted));
        expect(JSON.stringify(readAll(cursorIn(`{"a":${JSON.stringify(wanted, null, indent)}}`)))).toBe(
          JSON.stringify({ a: wanted }),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('steps over values of every kind and size', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1 }), fc.constantFrom(0, 2), (values, indent) => {
        const cursor = cursorAt(JSON.stringify(values, null, indent));
        expect(readAll(cursor, (depth) => depth === 1)).toEqual(values.map(() => 'left out'));
      }),
      { numRuns: 500 },
    );
  });

  it('returns the position of a value, and of a text without its quotes', () => {
    const text = '{"value": "a\\"b" }';
    const cursor = cursorIn(text);
    cursor.eachMember(() => true);
    const copy = cursor.copy();
    expect([cursor.isEscaped, cursor.span(), copy.textSpan()]).toEqual([
      true,
      { start: 10, end: 16 },
      { start: 11, end: 15 },
    ]);
  });

  it('cuts a text at the given length, escaped or not', () => {
    expect(cursorAt('"abcdef"').text(3)).toBe('abc');
    expect(cursorAt('"\\u0061\\n\\ud83d\\ude00b"').text(4)).toBe('a\n😀');
    expect(cursorAt(`"${'é'.repeat(50)}"`).text(7)).toBe('é'.repeat(7));
  });

  it('returns keys and texts that are words without making a string, in any notation', () => {
    const cursor = cursorIn('{"role":"user","\\u0063ontent":"\\u0075ser","Role":"User","other":"users"}');
    const read: [string, string, string][] = [];
    cursor.eachMember((word) => void read.push([word, cursor.nameBesidesCase(), cursor.word()]));
    expect(read).toEqual([
      ['role', 'role', 'user'],
      ['content', 'content', 'user'],
      ['', 'role', ''],
      ['', '', ''],
    ]);
  });

  it('skips replaced members, but not if only keys are read', () => {
    const text = '{"role":1,"user":{"n":1},"role":2}';
    const [members, keys]: [string[], string[]] = [[], []];
    const cursor = cursorIn(text);
    cursor.eachMember((word) => {
      members.push(word);
      cursor.skip();
    });
    new JsonCursor(scanned(text)).eachKey((word) => void keys.push(word));
    expect([members, keys]).toEqual([
      ['user', 'role'],
      ['role', 'user', 'role'],
    ]);
  });

  it('steps over replaced members of every kind, with all their contents', () => {
    const written = fc.constantFrom('1', '"b"', 'null', '[]', '{}', '[["a",{"b":1}],"a"]', '{"a":["b"],"b":{"a":"}"}}');
    const members = fc.array(fc.tuple(fc.constantFrom('"a"', '"\\u0061"', '"b"', '"c"'), written), { maxLength: 12 });
    const joined = (all: readonly (readonly [string, string])[]) => `{${all.map((member) => member.join(':')).join()}}`;
    fc.assert(
      fc.property(members, members, (outer, inner) => {
        const text = joined([...outer, ['"a"', `[${joined([...inner, ['"b"', '{}']])}]`]]);
        expect(readAll(cursorIn(text))).toEqual(parseJson(text));
      }),
      { numRuns: 500 },
    );
  });

  it('stops at the first result', () => {
    const seen: string[] = [];
    const cursor = cursorIn('{"n":1,"stop":2,"user":3}');
    const answer = cursor.eachMember((key) => {
      seen.push(key);
      cursor.skip();
      return key === 'stop' ? 'found' : undefined;
    });
    expect([answer, seen]).toEqual(['found', ['n', 'stop']]);
  });
});

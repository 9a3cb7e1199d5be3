import { expect, test } from 'vitest';
import { recordArrayText } from './record-text.ts';

const whole = [(value: string | number | bigint | boolean | null | undefined) => value];

test.each([
  { values: [], text: '{}' },
  { values: ['gen-01', 'a.b:c_d/e', '7'], text: '{"(gen-01)","(a.b:c_d/e)","(7)"}' },
  { values: [undefined, null, 'null', ''], text: String.raw`{"()","()","(null)","(\"\")"}` },
  { values: ['a,b', '()', 'a b'], text: String.raw`{"(\"a,b\")","(\"()\")","(\"a b\")"}` },
  { values: ['"', '\\', 'é'], text: String.raw`{"(\"\"\"\")","(\"\\\\\")","(\"é\")"}` },
  { values: ['\n'], text: '{"(\\"\n\\")"}' },
  { values: [1, -2n, true, false], text: '{"(1)","(-2)","(true)","(false)"}' },
])('values become $text', ({ values, text }) => {
  expect(recordArrayText(values, whole)).toBe(text);
});

test('columns keep their order, and absent values their position', () => {
  const columns = [(item: { a?: string; b: number }) => item.a, (item: { b: number }) => item.b];
  expect(recordArrayText([{ a: 'x', b: 1 }, { b: 2 }], columns)).toBe('{"(x,1)","(,2)"}');
});

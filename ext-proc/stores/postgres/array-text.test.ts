import { expect, test } from 'vitest';
import { arrayText } from './array-text.ts';

test.each([
  { values: [], text: '{}' },
  { values: ['gen-01', 'a.b:c_d', '7'], text: '{gen-01,a.b:c_d,7}' },
  { values: [undefined, null, 'NULL', 'null', 'nullable', ''], text: '{NULL,NULL,"NULL","null",nullable,""}' },
  { values: ['a,b', '{}', 'a b', '"', '\\', '\n', 'é'], text: '{"a,b","{}","a b","\\"","\\\\","\n","é"}' },
])('texts become $text', ({ values, text }) => {
  expect(arrayText('text[]', values, (value) => value)).toBe(text);
});

test('numbers, booleans and dates stand as they are', () => {
  expect(arrayText('bigint[]', [1, -2n, undefined], (value) => value)).toBe('{1,-2,NULL}');
  expect(arrayText('boolean[]', [true, false], (value) => value)).toBe('{true,false}');
  expect(arrayText('date[]', ['2026-11-21'], (value) => value)).toBe('{2026-11-21}');
});

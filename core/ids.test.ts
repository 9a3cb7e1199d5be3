import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isGenerationId, isIdOf } from './id-form.ts';
import { idFloor, idMoment, newId } from './ids.ts';

it('ids sort by time, and a generation id is known by its form', () => {
  const moment = fc.integer({ min: 0, max: 2 ** 47 });
  fc.assert(
    fc.property(moment, moment, (earlier, later) => {
      fc.pre(earlier < later);
      expect(newId('gen', earlier) < newId('gen', later)).toBe(true);
      expect(isGenerationId(newId('gen', earlier))).toBe(true);
      expect(isIdOf('key', newId('key', earlier))).toBe(true);
      expect(idMoment(newId('log', earlier))).toBe(earlier);
    }),
  );
});

it.each([-8.64e15, -32, -1, 0])('no id is before the first of %d ms', (ms) => {
  expect(idFloor('gen', ms)).toBe('gen-0000000000');
});

it.each([
  '',
  'gen-',
  'gen-01',
  'key-01ARZ3NDEKTSV4RRFFQ69G5FAV',
  'gen-81ARZ3NDEKTSV4RRFFQ69G5FAV',
  'genX01ARZ3NDEKTSV4RRFFQ69G5FAV',
  'gen-01ARZ3NDEKTSV4RRFFQ69G5FAVX',
  'gen-01arz3ndektsv4rrffq69g5fav',
])('%j is no generation id', (text) => {
  expect(isGenerationId(text)).toBe(false);
});

it('two ids of the same millisecond differ', () => {
  const ids = new Set(Array.from({ length: 1000 }, () => newId('gen', 1)));
  expect(ids.size).toBe(1000);
});

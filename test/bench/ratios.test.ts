import { expect, test } from 'vitest';
import { better, measuredFor, RATIO_NAMES, recordedRatios, regressions } from './ratios.ts';
import { FAST_STREAMS, SMALL } from './scenarios.ts';
import { GATEWAY, PLAIN, WITH_REDIS } from './sides.ts';

test.each([
  { measured: { a: 11.5, b: 1 }, worse: [] },
  { measured: { a: 11.51, b: 1 }, worse: ['a'] },
  { measured: { a: 10 }, worse: ['b'] },
  { measured: { a: Number.NaN, b: 2 }, worse: ['a', 'b'] },
])('$measured: worse than the record by more than noise is $worse', ({ measured, worse }) => {
  expect(regressions(measured, { a: 10, b: 1 })).toEqual(worse);
});

test('the better of two measurements counts, and one that was not repeated is kept', () => {
  expect(better({ a: 3, b: 4, c: 5 }, { a: 2, b: 6 })).toEqual({ a: 2, b: 4, c: 5 });
});

test('exactly the ratios are recorded', () => {
  expect(Object.keys(recordedRatios())).toEqual(RATIO_NAMES);
});

test('each side of a scenario is measured once', () => {
  const [, , , stream = '', , redis = ''] = RATIO_NAMES;
  expect([...measuredFor([SMALL.name, stream, redis])]).toEqual([
    [SMALL, [GATEWAY, PLAIN, WITH_REDIS]],
    [FAST_STREAMS, [GATEWAY]],
  ]);
});

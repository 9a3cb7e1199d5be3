import { expect, test } from 'vitest';
import { readDrainTimeoutMs } from './drain-timeout.ts';

test.each([
  [undefined, 30_000],
  ['0', 0],
  ['920000', 920_000],
  ['3600000', 3_600_000],
])('%j is %d ms', (given, expected) => {
  expect(readDrainTimeoutMs({ DRAIN_TIMEOUT_MS: given })).toBe(expected);
});

// Each of them would be 0 or NaN as a number, and cut every stream at once.
test.each(['', ' ', '15m', '920s', '-1', '1.5', '1e3', '3600001', '99999999'])('%j is refused', (given) => {
  expect(readDrainTimeoutMs({ DRAIN_TIMEOUT_MS: given })).toBe(
    `DRAIN_TIMEOUT_MS takes whole milliseconds from 0 to 3600000, not ${JSON.stringify(given)}.`,
  );
});

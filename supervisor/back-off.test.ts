import { expect, test } from 'vitest';
import { createBackOff, FIRST_DELAY_MS, LONGEST_DELAY_MS, RECOVERED_AFTER_MS } from './back-off.ts';

test('the first restart is at once, the next ones double up to the longest delay', () => {
  const backOff = createBackOff();
  const delays = Array.from({ length: 9 }, () => backOff.nextDelayMs(10));
  expect(delays).toEqual([
    0,
    FIRST_DELAY_MS,
    400,
    800,
    1_600,
    3_200,
    LONGEST_DELAY_MS,
    LONGEST_DELAY_MS,
    LONGEST_DELAY_MS,
  ]);
});

test('a process that stayed up starts from the beginning', () => {
  const backOff = createBackOff();
  for (let death = 0; death < 5; death++) backOff.nextDelayMs(10);
  expect(backOff.nextDelayMs(RECOVERED_AFTER_MS)).toBe(0);
  expect(backOff.nextDelayMs(RECOVERED_AFTER_MS - 1)).toBe(FIRST_DELAY_MS);
});

test('the delay stays the longest however often the process dies', () => {
  const backOff = createBackOff();
  for (let death = 0; death < 5_000; death++) backOff.nextDelayMs(0);
  expect(backOff.nextDelayMs(0)).toBe(LONGEST_DELAY_MS);
});

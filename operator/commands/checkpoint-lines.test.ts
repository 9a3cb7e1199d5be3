import { expect, test } from 'vitest';
import { readExported } from './checkpoint-lines.ts';

test('a file of anything else is refused at once, however many spaces it has', () => {
  const beganMs = performance.now();
  expect(readExported(`{}${' '.repeat(100_000)}{}`)).toBe('it has no output of `ledger checkpoints`');
  expect(performance.now() - beganMs).toBeLessThan(1_000);
});

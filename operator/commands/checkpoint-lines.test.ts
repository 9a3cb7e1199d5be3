import { expect, test } from 'vitest';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { readExported } from './checkpoint-lines.ts';

test('a file of anything else is refused at once, however many spaces it has', () => {
  const tookMs = cpuMsOf(() => {
    for (const empty of ['', '\n', '[]']) expect(readExported(empty)).toBe('it has no checkpoint');
    expect(readExported(`{}${' '.repeat(100_000)}{}`)).toBe('it has no output of `ledger checkpoints`');
  });
  expect(tookMs).toBeLessThan(1_000);
});

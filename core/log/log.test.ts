import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createIsoTime } from './log.ts';

test('the time of a line is what toISOString gives, whatever was asked before', () => {
  const isoTime = createIsoTime();
  const near = fc.integer({ min: 1_795_305_599_000, max: 1_795_305_601_999 });
  const far = fc.integer({ min: -62_000_000_000_000, max: 250_000_000_000_000 });
  fc.assert(
    fc.property(fc.oneof(near, far), (nowMs) => {
      expect(isoTime(nowMs)).toBe(new Date(nowMs).toISOString());
    }),
    { numRuns: 1_000 },
  );
});

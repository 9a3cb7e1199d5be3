import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_AMOUNT_NANO_USD } from '#core/money.ts';
import { availableAmount, takenAmount } from './amounts.ts';

const LARGEST = 2n ** 53n - 1n;
const amount = fc.oneof(
  fc.bigInt({ min: -MAX_AMOUNT_NANO_USD, max: MAX_AMOUNT_NANO_USD }),
  fc.bigInt({ min: LARGEST - 3n, max: LARGEST + 3n }),
  fc.bigInt({ min: -LARGEST - 3n, max: -LARGEST + 3n }),
);

it('amounts are exact doubles; larger ones are clamped so that less is admitted', () => {
  fc.assert(
    fc.property(amount, (nano) => {
      const available = BigInt(availableAmount(nano));
      const taken = BigInt(takenAmount(nano < 0n ? 0n : nano));
      for (const clamped of [available, taken]) expect(BigInt(Number(clamped))).toBe(clamped);
      if (nano <= LARGEST && nano >= -LARGEST - 1n) expect(available).toBe(nano);
      if (nano >= 0n && nano <= LARGEST) expect(taken).toBe(nano);
      expect(available).toBeLessThanOrEqual(LARGEST);
      // An amount too large to be exact never fits.
      if (nano > LARGEST) expect(taken).toBeGreaterThan(LARGEST);
      if (nano >= 0n) expect(available).toBeLessThanOrEqual(nano);
      else expect(available).toBeLessThan(0n);
    }),
  );
});

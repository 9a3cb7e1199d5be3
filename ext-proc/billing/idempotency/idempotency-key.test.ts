import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '#core/errors/refusal.ts';
import { readIdempotencyKey } from './idempotency-key.ts';

describe('the header Idempotency-Key', () => {
  it('may be absent', () => {
    expect(readIdempotencyKey(undefined)).toBeUndefined();
  });

  it('is used unchanged: 1 to 255 visible ASCII characters', () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 255,
    });
    fc.assert(fc.property(visible, (key) => readIdempotencyKey(key) === key));
    expect(readIdempotencyKey('x'.repeat(255))).toHaveLength(255);
  });

  it.each(['', ' ', 'a b', 'a\t', 'a\u007f', 'é', 'one, two', 'a\n', 'x'.repeat(256)])('is refused: %j', (key) => {
    const refusal = readIdempotencyKey(key);
    expect(isRefusal(refusal) && [refusal.code, refusal.param]).toEqual(['invalid_request', 'Idempotency-Key']);
  });
});

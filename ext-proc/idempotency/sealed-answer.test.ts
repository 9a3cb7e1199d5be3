import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestSeal } from './sealed-answer.ts';

const ORGANIZATION = 'org-01ARZ3NDEKTSV4RRFFQ69G5FAV';
const GENERATION = 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAV';
const BODY = Buffer.from('{"model":"m"}');
const ANSWER = Buffer.from('the answer');

describe('a sealed answer', () => {
  it('is opened by the same request only', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.uint8Array(), fc.uint8Array(), (key, body, answer) => {
        const sealed = requestSeal(ORGANIZATION, key, Buffer.from(body)).seal(Buffer.from(answer), GENERATION);
        const again = requestSeal(ORGANIZATION, key, Buffer.from(body));
        expect(again.open(sealed, GENERATION)).toEqual(Buffer.from(answer));
        for (const other of [
          requestSeal(ORGANIZATION, `${key}x`, Buffer.from(body)),
          requestSeal(ORGANIZATION, key, Buffer.concat([Buffer.from(body), Buffer.from(' ')])),
          requestSeal('org-01ARZ3NDEKTSV4RRFFQ69G5FAW', key, Buffer.from(body)),
        ])
          expect(() => other.open(sealed, GENERATION)).toThrow();
        expect(() => again.open(sealed, 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAW')).toThrow();
      }),
    );
  });

  it('notices every changed byte, and a missing end', () => {
    const seal = requestSeal(ORGANIZATION, 'key', BODY);
    const sealed = seal.seal(ANSWER, GENERATION);
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => seal.open(changed, GENERATION)).toThrow();
    }
    for (const length of [0, 12, 27, 28, sealed.length - 1])
      expect(() => seal.open(sealed.subarray(0, length), GENERATION)).toThrow();
  });

  it('shows nothing of key, body and answer, and never looks the same twice', () => {
    const seal = requestSeal(ORGANIZATION, 'sentinel-key', BODY);
    const sealed = [seal.seal(ANSWER, GENERATION), seal.seal(ANSWER, GENERATION)];
    expect(sealed[0]?.equals(sealed[1] ?? ANSWER)).toBe(false);
    const shown = Buffer.concat([seal.keyHash, seal.bodyHash, ...sealed]).toString('latin1');
    for (const hidden of ['sentinel-key', BODY.toString(), ANSWER.toString()]) expect(shown).not.toContain(hidden);
  });

  it('finds a row by organization and key alone, and tells bodies apart only where the key is known', () => {
    const one = requestSeal(ORGANIZATION, 'key', BODY);
    const other = requestSeal(ORGANIZATION, 'key', Buffer.from('{}'));
    expect(one.keyHash).toEqual(other.keyHash);
    expect(one.bodyHash).not.toEqual(other.bodyHash);
    expect(requestSeal(ORGANIZATION, 'another', BODY).bodyHash).not.toEqual(one.bodyHash);
    expect(requestSeal('org-01ARZ3NDEKTSV4RRFFQ69G5FAW', 'key', BODY).keyHash).not.toEqual(one.keyHash);
    expect([one.keyHash.length, one.bodyHash.length]).toEqual([32, 32]);
  });
});

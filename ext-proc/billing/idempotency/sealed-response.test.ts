import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { type RequestSeal, requestSeal } from './sealed-response.ts';
import { openStoredResponse } from './stored-response.ts';

const ORGANIZATION = 'org-01ARZ3NDEKTSV4RRFFQ69G5FAV';
const GENERATION = 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAV';
const BODY = Buffer.from('{"model":"m"}');
const ANSWER = Buffer.from('the answer');

/** As it is read for a client: head, first segment, and then several at once. */
async function opened(seal: RequestSeal, sealed: Buffer, generationId = GENERATION): Promise<Buffer> {
  const read = async (from: number, bytes: number) => sealed.subarray(from, from + bytes);
  const stored = await openStoredResponse(read, seal, generationId, sealed.length);
  const pieces: Buffer[] = [];
  for (let piece = await stored?.next(); piece !== 'end'; piece = await stored?.next()) {
    if (!Buffer.isBuffer(piece)) throw new Error('the answer is there');
    pieces.push(piece);
  }
  const answer = Buffer.concat(pieces);
  expect(stored?.bytes).toBe(answer.length);
  return answer;
}

const SEGMENT_BYTES = 64 * 1024;
const HEAD_BYTES = 40;
const SEALED_SEGMENT_BYTES = SEGMENT_BYTES + 16;

describe('a sealed response', () => {
  it('is only opened by the same request', async () => {
    const property = fc.asyncProperty(
      fc.string({ minLength: 1 }),
      fc.uint8Array(),
      fc.uint8Array(),
      async (key, body, answer) => {
        const sealed = await requestSeal(ORGANIZATION, key, Buffer.from(body)).seal(Buffer.from(answer), GENERATION);
        const again = requestSeal(ORGANIZATION, key, Buffer.from(body));
        expect(await opened(again, sealed)).toEqual(Buffer.from(answer));
        for (const other of [
          requestSeal(ORGANIZATION, `${key}x`, Buffer.from(body)),
          requestSeal(ORGANIZATION, key, Buffer.concat([Buffer.from(body), Buffer.from(' ')])),
          requestSeal('org-01ARZ3NDEKTSV4RRFFQ69G5FAW', key, Buffer.from(body)),
        ])
          await expect(opened(other, sealed)).rejects.toThrow();
        await expect(opened(again, sealed, 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAW')).rejects.toThrow();
      },
    );
    await fc.assert(property);
  });

  it('notices every changed byte, and a missing end', async () => {
    const seal = requestSeal(ORGANIZATION, 'key', BODY);
    const sealed = await seal.seal(ANSWER, GENERATION);
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      await expect(opened(seal, changed)).rejects.toThrow();
    }
    for (const length of [0, 12, 27, 28, 40, 55, sealed.length - 1])
      await expect(opened(seal, sealed.subarray(0, length))).rejects.toThrow();
  });

  it.each([0, 1, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, 5 * SEGMENT_BYTES, 70 * SEGMENT_BYTES + 7])(
    'of %d bytes is sealed in segments, each opened by itself',
    async (bytes) => {
      const seal = requestSeal(ORGANIZATION, 'key', BODY);
      const answer = randomBytes(bytes);
      const sealed = await seal.seal(answer, GENERATION);
      expect(sealed.length).toBe(HEAD_BYTES + bytes + 16 * Math.max(1, Math.ceil(bytes / SEGMENT_BYTES)));
      expect((await opened(seal, sealed)).equals(answer)).toBe(true);
    },
  );

  it('cannot be opened with a segment that is exchanged, missing or added', async () => {
    const seal = requestSeal(ORGANIZATION, 'key', BODY);
    const answer = randomBytes(6 * SEGMENT_BYTES);
    const [sealed, again] = [await seal.seal(answer, GENERATION), await seal.seal(answer, GENERATION)];
    const segment = (of: Buffer, at: number) =>
      of.subarray(HEAD_BYTES + at * SEALED_SEGMENT_BYTES, HEAD_BYTES + (at + 1) * SEALED_SEGMENT_BYTES);
    const head = sealed.subarray(0, HEAD_BYTES);
    const all = [0, 1, 2, 3, 4, 5].map((at) => segment(sealed, at));
    const [first = head, second = head] = all;
    for (const changed of [
      [head, second, first, ...all.slice(2)],
      [head, ...all.slice(0, 5)],
      [head, ...all.slice(1)],
      [head, ...all, segment(sealed, 5)],
      [head, ...all.slice(0, 5), segment(again, 5)],
      [again.subarray(0, HEAD_BYTES), ...all],
    ])
      await expect(opened(seal, Buffer.concat(changed))).rejects.toThrow();
    expect((await opened(seal, Buffer.concat([head, ...all]))).equals(answer)).toBe(true);
  });

  it('that shrinks while it is read is not complete', async () => {
    const seal = requestSeal(ORGANIZATION, 'key', BODY);
    const sealed = await seal.seal(randomBytes(6 * SEGMENT_BYTES), GENERATION);
    const cut = sealed.subarray(0, HEAD_BYTES + 5 * SEALED_SEGMENT_BYTES);
    const read = async (from: number, bytes: number) => cut.subarray(from, from + bytes);
    const stored = await openStoredResponse(read, seal, GENERATION, sealed.length);
    for (let segment = 0; segment < 4; segment++) expect(Buffer.isBuffer(await stored?.next())).toBe(true);
    await expect(stored?.next()).rejects.toThrow();
  });

  it('is gone midway if it was evicted or the database is unavailable', async () => {
    const seal = requestSeal(ORGANIZATION, 'key', BODY);
    const sealed = await seal.seal(randomBytes(2 * SEGMENT_BYTES), GENERATION);
    const away = new StoreUnavailable('away');
    for (const later of [async () => undefined, async () => Promise.reject(away)]) {
      const read = async (from: number, bytes: number) => (from === 0 ? sealed.subarray(0, bytes) : later());
      const stored = await openStoredResponse(read, seal, GENERATION, sealed.length);
      expect(Buffer.isBuffer(await stored?.next())).toBe(true);
      expect(await stored?.next()).toBe('gone');
      await expect(openStoredResponse(later, seal, GENERATION, sealed.length).catch((error) => error)).resolves.toBe(
        await later().catch((error) => error),
      );
    }
  });

  it('reveals nothing about key, body and response, and never looks the same twice', async () => {
    const seal = requestSeal(ORGANIZATION, 'sentinel-key', BODY);
    const sealed = [await seal.seal(ANSWER, GENERATION), await seal.seal(ANSWER, GENERATION)];
    expect(sealed[0]?.equals(sealed[1] ?? ANSWER)).toBe(false);
    const shown = Buffer.concat([seal.keyHash, seal.bodyHash, ...sealed]).toString('latin1');
    for (const hidden of ['sentinel-key', BODY.toString(), ANSWER.toString()]) expect(shown).not.toContain(hidden);
  });

  it('finds a row by organization and key alone, and distinguishes bodies only if the key is known', () => {
    const one = requestSeal(ORGANIZATION, 'key', BODY);
    const other = requestSeal(ORGANIZATION, 'key', Buffer.from('{}'));
    expect(one.keyHash).toEqual(other.keyHash);
    expect(one.bodyHash).not.toEqual(other.bodyHash);
    expect(requestSeal(ORGANIZATION, 'another', BODY).bodyHash).not.toEqual(one.bodyHash);
    expect(requestSeal('org-01ARZ3NDEKTSV4RRFFQ69G5FAW', 'key', BODY).keyHash).not.toEqual(one.keyHash);
    expect([one.keyHash.length, one.bodyHash.length]).toEqual([32, 32]);
  });
});

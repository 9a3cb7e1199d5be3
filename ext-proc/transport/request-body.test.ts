import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { lend } from '#packages/http2-server/borrowed-bytes.ts';
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';
import { SharedBudget } from '../fairness/shared-budget.ts';
import type { BodyBounds } from './exchange.ts';
import { RequestBody } from './request-body.ts';
import { UploadPlaces } from './upload-places.ts';

const usedBytes = () => {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const BOUNDS: BodyBounds = { organizationId: 'org_a', limitBytes: 100, mostUploads: 10, stallMs: 50, totalMs: 200 };
const bytes = (length: number) => Buffer.alloc(length, 'x');
const push = (body: RequestBody | undefined, piece: Buffer) => body?.push(lend(piece), 0, piece.length);

/** A body among few exchanges. */
const bodyIn = (shared: SharedBudget, declaredBytes = 0) =>
  new RequestBody({ budget: shared, places: new UploadPlaces(1000, () => 1) }, { declaredBytes, besideBytes: 0 });

let budget: SharedBudget;
beforeEach(() => {
  vi.useFakeTimers();
  budget = new SharedBudget(1000);
});
afterEach(() => {
  vi.useRealTimers();
});

describe('RequestBody', () => {
  test('returns the same bytes whether they came before or after `read`', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 5 }),
        fc.nat(6),
        async (chunks, readAt) => {
          const body = bodyIn(budget);
          let result = readAt === 0 ? body.read(BOUNDS) : undefined;
          for (const [index, chunk] of chunks.entries()) {
            push(body, Buffer.from(chunk));
            if (index + 1 === readAt) result = body.read(BOUNDS);
          }
          body.finish();
          result ??= body.read(BOUNDS);
          expect(await result).toEqual({ kind: 'complete', bytes: Buffer.concat(chunks) });
          body.discard();
          expect(budget.heldBytes).toBe(0);
        },
      ),
    );
  });

  test('loses no piece of one byte, and takes little more memory than for one large piece', async () => {
    const million = 1_000_000;
    const body = bodyIn(new SharedBudget(2 * million));
    const result = body.read({ ...BOUNDS, limitBytes: million });
    const before = usedBytes();
    for (let at = 0; at < million; at++) push(body, Buffer.of(at % 251));
    expect(usedBytes() - before).toBeLessThan(10 * million);
    body.finish();
    const got = await result;
    expect(got.kind === 'complete' && got.bytes.every((byte, at) => byte === at % 251)).toBe(true);
  });

  test('small pieces among large ones keep their order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(1, 3, 511, 512, 2_000), fc.integer({ min: 1, max: 600 })), { maxLength: 4 }),
        async (runs) => {
          const pieces = runs.flatMap(([length, times], run) =>
            Array.from({ length: times }, (_, at) => Buffer.alloc(length, run * 64 + (at % 64))),
          );
          const body = bodyIn(new SharedBudget(10_000_000));
          const result = body.read({ ...BOUNDS, limitBytes: 10_000_000 });
          for (const piece of pieces) push(body, piece);
          body.finish();
          const got = await result;
          expect(got.kind === 'complete' && got.bytes.equals(Buffer.concat(pieces))).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('copies pushed bytes, so that their memory can be reused', async () => {
    const body = bodyIn(budget, 4);
    const read = bytes(64 * 1024);
    push(body, read.fill('a').subarray(0, 2));
    push(body, read.fill('b').subarray(0, 2));
    body.finish();
    const result = await body.read(BOUNDS);
    expect(result).toEqual({ kind: 'complete', bytes: Buffer.from('aabb') });
    expect(result.kind === 'complete' && result.bytes.buffer).not.toBe(read.buffer);
  });

  test('the limit itself is allowed, one byte more is not', async () => {
    const body = bodyIn(budget);
    const result = body.read(BOUNDS);
    push(body, bytes(99));
    push(body, bytes(1));
    body.finish();
    expect((await result).kind).toBe('complete');
    const larger = bodyIn(budget);
    const refused = larger.read(BOUNDS);
    push(larger, bytes(100));
    push(larger, bytes(1));
    expect(await refused).toEqual({ kind: 'too_large' });
  });

  test.each([
    ['by content-length, before a byte', 101, 0],
    ['by what came before it was read', 0, 101],
  ])('is too large %s', async (_, declared, sent) => {
    const body = bodyIn(budget, declared);
    push(body, bytes(sent));
    expect(await body.read(BOUNDS)).toEqual({ kind: 'too_large' });
    expect(budget.heldBytes).toBe(0);
    expect(body.wantsMore).toBe(true);
  });

  test('a complete body above the limit of its reader is too large, and its bytes are dropped', async () => {
    const body = bodyIn(budget);
    push(body, bytes(101));
    body.finish();
    expect(await body.read(BOUNDS)).toEqual({ kind: 'too_large' });
    body.discard();
    expect(budget.heldBytes).toBe(0);
  });

  test('does not want more bytes before `read`', () => {
    const body = bodyIn(budget);
    expect(body.wantsMore).toBe(false);
    push(body, bytes(1));
    expect(body.wantsMore).toBe(false);
    void body.read(BOUNDS);
    expect(body.wantsMore).toBe(true);
  });

  test('a body above the process-wide budget is refused and frees its memory', async () => {
    for (const [organization, kept] of [
      ['org_b', 500],
      ['org_c', 250],
      ['org_d', 200],
    ] as const)
      expect(budget.open(organization).take(kept)).toBe(true);
    const body = bodyIn(budget);
    const result = body.read(BOUNDS);
    push(body, bytes(40));
    push(body, bytes(20));
    expect(await result).toEqual({ kind: 'no_memory' });
    expect(budget.heldBytes).toBe(950);
    push(body, bytes(20));
    body.finish();
    expect(budget.heldBytes).toBe(950);
  });

  test('a stalled upload is evicted for another one, but not for itself', async () => {
    const still = bodyIn(budget);
    const refused = still.read({ ...BOUNDS, limitBytes: 1000 });
    push(still, bytes(900));
    const coming = bodyIn(budget);
    push(coming, bytes(60));
    push(coming, bytes(60));
    expect(await refused).toEqual({ kind: 'no_memory' });
    expect(budget.heldBytes).toBe(120);
    push(coming, bytes(900));
    expect(await coming.read(BOUNDS)).toEqual({ kind: 'no_memory' });
    expect(budget.heldBytes).toBe(0);
  });

  test("a body that was read is not evicted, and beyond its organization's share none is accepted", async () => {
    const bodies = [450, 450, 40].map((length) => {
      const body = bodyIn(budget);
      body.reservation.assignTo('org_a');
      push(body, bytes(length));
      return body;
    });
    for (const body of bodies) body.finish();
    const results = await Promise.all(bodies.map((body) => body.read({ ...BOUNDS, limitBytes: 1000 })));
    expect(results.map(({ kind }) => kind)).toEqual(['complete', 'no_memory', 'complete']);
    expect(budget.heldBytes).toBe(490);
    expect(budget.open('org_b').take(250)).toBe(true);
  });

  test('a complete body that was not read yet can be evicted', async () => {
    const body = bodyIn(budget);
    push(body, bytes(900));
    body.finish();
    expect(budget.open('org_b').take(250)).toBe(true);
    expect(await body.read({ ...BOUNDS, limitBytes: 1000 })).toEqual({ kind: 'no_memory' });
    expect(budget.heldBytes).toBe(250);
  });

  test('single bytes are not progress: the upload with the latest progress is evicted last', async () => {
    const kib = 1024;
    const large = new SharedBudget(1000 * kib);
    const [first, second, third] = Array.from({ length: 3 }, () => bodyIn(large));
    push(first, bytes(250 * kib));
    push(second, bytes(600 * kib));
    push(first, bytes(64 * kib));
    for (let drop = 0; drop < 100; drop++) push(second, bytes(1));
    push(third, bytes(150 * kib));
    expect(large.heldBytes).toBe(464 * kib);
    for (const body of [first, third]) body?.finish();
    const results = [first, second, third].map((body) => body?.read({ ...BOUNDS, limitBytes: 1000 * kib }));
    expect((await Promise.all(results)).map((result) => result?.kind)).toEqual(['complete', 'no_memory', 'complete']);
  });

  test('the budget is never exceeded or miscounted, in any order of events', () => {
    const step = fc.record({
      which: fc.nat(5),
      act: fc.constantFrom('push', 'push', 'push', 'finish', 'read', 'abandon', 'discard'),
      length: fc.integer({ min: 1, max: 700 }),
    });
    const refusals = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const shared = new SharedBudget(1000, (why) => refusals.add(why));
        const bodies = Array.from({ length: 6 }, () => bodyIn(shared));
        for (const { which, act, length } of steps) {
          const body = bodies[which];
          if (act === 'push') push(body, bytes(length));
          else if (act === 'read') void body?.read({ ...BOUNDS, limitBytes: 900 });
          else body?.[act]();
          expect(shared.heldBytes).toBeGreaterThanOrEqual(0);
          expect(shared.heldBytes).toBeLessThanOrEqual(1000);
        }
        for (const body of bodies) body.discard();
        expect(shared.heldBytes).toBe(0);
      }),
    );
    expect(refusals).toContain('gave_way');
  });

  test('a client that leaves ends the reading; one that leaves after the last byte does not', async () => {
    const body = bodyIn(budget);
    const result = body.read(BOUNDS);
    body.abandon();
    expect(await result).toEqual({ kind: 'gone' });
    const whole = bodyIn(budget);
    push(whole, bytes(1));
    whole.finish();
    whole.abandon();
    expect((await whole.read(BOUNDS)).kind).toBe('complete');
  });

  test('an evicted upload that goes on holds no memory', () => {
    const body = bodyIn(budget);
    push(body, bytes(10));
    body.abandon();
    push(body, bytes(10));
    expect(budget.heldBytes).toBe(0);
    expect(body.wantsMore).toBe(true);
  });

  test('leaves no timer behind', async () => {
    const body = bodyIn(budget);
    const result = body.read(BOUNDS);
    body.finish();
    await result;
    expect(vi.getTimerCount()).toBe(0);
  });
});

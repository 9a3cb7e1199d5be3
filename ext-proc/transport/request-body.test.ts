import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BodyBudget } from './body-budget.ts';
import type { BodyBounds } from './exchange.ts';
import { RequestBody } from './request-body.ts';

const BOUNDS: BodyBounds = { limitBytes: 100, idleMs: 50, totalMs: 200 };
const bytes = (length: number) => Buffer.alloc(length, 'x');

let budget: BodyBudget;
beforeEach(() => {
  vi.useFakeTimers();
  budget = new BodyBudget(1000);
});
afterEach(() => {
  vi.useRealTimers();
});

describe('RequestBody', () => {
  test('gives the same bytes whether they came before or after somebody read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 5 }),
        fc.nat(6),
        async (chunks, readAt) => {
          const body = new RequestBody(budget, 0);
          let result = readAt === 0 ? body.read(BOUNDS) : undefined;
          for (const [index, chunk] of chunks.entries()) {
            body.push(Buffer.from(chunk));
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

  test('the limit itself is allowed, one byte more is not', async () => {
    const body = new RequestBody(budget, 0);
    const result = body.read(BOUNDS);
    body.push(bytes(99));
    body.push(bytes(1));
    body.finish();
    expect((await result).kind).toBe('complete');
    const larger = new RequestBody(budget, 0);
    const refused = larger.read(BOUNDS);
    larger.push(bytes(100));
    larger.push(bytes(1));
    expect(await refused).toEqual({ kind: 'too_large' });
  });

  test.each([
    ['by content-length, before a byte', 101, 0],
    ['by what came before it was read', 0, 101],
  ])('is too large %s', async (_, declared, sent) => {
    const body = new RequestBody(budget, declared);
    body.push(bytes(sent));
    expect(await body.read(BOUNDS)).toEqual({ kind: 'too_large' });
    expect(budget.heldBytes).toBe(0);
    expect(body.wantsMore).toBe(true);
  });

  test('a complete body above the limit of its reader is too large, and its bytes are dropped', async () => {
    const body = new RequestBody(budget, 0);
    body.push(bytes(101));
    body.finish();
    expect(await body.read(BOUNDS)).toEqual({ kind: 'too_large' });
    body.discard();
    expect(budget.heldBytes).toBe(0);
  });

  test('bytes that nobody reads yet ask for no more', () => {
    const body = new RequestBody(budget, 0);
    expect(body.wantsMore).toBe(false);
    body.push(bytes(1));
    expect(body.wantsMore).toBe(false);
    void body.read(BOUNDS);
    expect(body.wantsMore).toBe(true);
  });

  test('what is over the process-wide budget is refused and frees what it held', async () => {
    const other = new RequestBody(budget, 0);
    other.push(bytes(950));
    const body = new RequestBody(budget, 0);
    const result = body.read(BOUNDS);
    body.push(bytes(40));
    body.push(bytes(20));
    expect(await result).toEqual({ kind: 'no_room' });
    expect(budget.heldBytes).toBe(950);
    body.push(bytes(20));
    body.finish();
    expect(budget.heldBytes).toBe(950);
  });

  test('silence is bounded, and each piece starts it anew', async () => {
    const body = new RequestBody(budget, 0);
    let settled = false;
    const result = body.read(BOUNDS).finally(() => {
      settled = true;
    });
    for (let piece = 0; piece < 3; piece++) {
      await vi.advanceTimersByTimeAsync(45);
      body.push(bytes(1));
    }
    expect(settled).toBe(false);
    await vi.advanceTimersByTimeAsync(50);
    expect(await result).toEqual({ kind: 'timeout' });
    expect(budget.heldBytes).toBe(0);
  });

  test('the whole upload is bounded, however steady', async () => {
    const body = new RequestBody(budget, 0);
    const result = body.read(BOUNDS);
    for (let piece = 0; piece < 10; piece++) {
      await vi.advanceTimersByTimeAsync(25);
      body.push(bytes(1));
    }
    expect(await result).toEqual({ kind: 'timeout' });
  });

  test('a client that leaves ends the reading; one that leaves after the last byte does not', async () => {
    const body = new RequestBody(budget, 0);
    const result = body.read(BOUNDS);
    body.abandon();
    expect(await result).toEqual({ kind: 'gone' });
    const whole = new RequestBody(budget, 0);
    whole.push(bytes(1));
    whole.finish();
    whole.abandon();
    expect((await whole.read(BOUNDS)).kind).toBe('complete');
  });

  test('an upload that goes on after it was given up holds nothing', () => {
    const body = new RequestBody(budget, 0);
    body.push(bytes(10));
    body.abandon();
    body.push(bytes(10));
    expect(budget.heldBytes).toBe(0);
    expect(body.wantsMore).toBe(true);
  });

  test('leaves no timer behind', async () => {
    const body = new RequestBody(budget, 0);
    const result = body.read(BOUNDS);
    body.finish();
    await result;
    expect(vi.getTimerCount()).toBe(0);
  });
});

import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '#core/clock.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { MemoryLimitStore } from '../limits/memory/memory-limit-store.ts';
import { createRefusedRequests, type RefusedRequests } from './refused-requests.ts';

const START = 30_000_000 * MINUTE_MS;
const store = () => new MemoryLimitStore({ leaseMs: 1000 });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** How many were counted of so many. */
function takeAll(refused: RefusedRequests, count: number, { id = 'org-1', limit = 10, nowMs = START } = {}): number {
  let counted = 0;
  for (let i = 0; i < count; i++) if (refused.take(id, limit, nowMs) === undefined) counted += 1;
  return counted;
}

describe('refused requests', () => {
  test('of one process are counted exactly, even concurrent ones', () => {
    const refused = createRefusedRequests(store());
    expect(refused.check('org-1', 10, START)).toBeUndefined();
    expect(takeAll(refused, 25)).toBe(10);
    expect(refused.check('org-1', 10, START + 1_500)).toMatchObject({ code: 'rpm_exceeded', retryAfterSeconds: 59 });
    expect(refused.check('org-2', 10, START)).toBeUndefined();
  });

  test('begin again with each minute, and follow a changed limit at once', () => {
    const refused = createRefusedRequests(store());
    takeAll(refused, 10);
    expect(refused.check('org-1', 11, START)).toBeUndefined();
    expect(refused.check('org-1', 10, START + MINUTE_MS - 1)).toMatchObject({ retryAfterSeconds: 1 });
    expect(refused.check('org-1', 10, START + MINUTE_MS)).toBeUndefined();
    expect(takeAll(refused, 25, { nowMs: START + MINUTE_MS })).toBe(10);
  });

  test('of several processes are counted together, once the store has replied', async () => {
    const shared = store();
    const [one, other] = [createRefusedRequests(shared), createRefusedRequests(shared)];
    expect(takeAll(one, 6)).toBe(6);
    await settled();
    expect(takeAll(other, 1)).toBe(1);
    await settled();
    expect(takeAll(other, 9)).toBe(3);
    await settled();
    // One more request brings the count of the other process.
    expect(takeAll(one, 1)).toBe(1);
    await settled();
    expect(one.check('org-1', 10, START)).toMatchObject({ code: 'rpm_exceeded' });
  });

  test('are limited by each process alone while the store is unavailable, which is called once at a time', async () => {
    let asked = 0;
    const refused = createRefusedRequests({
      countRefused: async () => {
        asked += 1;
        await settled();
        throw new StoreUnavailable('away');
      },
    });
    expect(takeAll(refused, 25)).toBe(10);
    for (let i = 0; i < 5; i++) await settled();
    expect(asked).toBe(2);
  });

  test.each([
    ['behind', -20_000],
    ['ahead', 20_000],
    ['far ahead', 50_000],
  ])('keep the minutes of a store whose clock is %s', async (_, aheadMs) => {
    const inner = store();
    const refused = createRefusedRequests({
      async countRefused(id, requests, nowMs) {
        const { refused, resetsAtMs } = await inner.countRefused(id, requests, nowMs + aheadMs);
        return { refused, resetsAtMs: resetsAtMs - aheadMs };
      },
    });
    let counted = 0;
    for (let second = 0; second < 600; second++) {
      counted += takeAll(refused, 1, { nowMs: START + second * 1000 });
      await settled();
    }
    // Ten minutes, and parts of two more.
    expect(counted).toBeGreaterThanOrEqual(90);
    expect(counted).toBeLessThanOrEqual(120);
  });

  test('are counted for a bounded number of organizations and keys', () => {
    const refused = createRefusedRequests(store(), 3);
    for (const id of ['a', 'b', 'c', 'd']) takeAll(refused, 10, { id });
    expect(['a', 'b', 'c', 'd'].map((id) => refused.check(id, 10, START) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    // Windows that are over are forgotten first.
    takeAll(refused, 10, { id: 'e', nowMs: START + MINUTE_MS });
    takeAll(refused, 10, { id: 'f', nowMs: START + MINUTE_MS });
    expect(refused.check('e', 10, START + MINUTE_MS)).toBeDefined();
  });
});

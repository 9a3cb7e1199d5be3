import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Hold } from '#ext-proc/limits/limit-store.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { admitFresh, DAY, LEASE_MS, NOON_ISH, QUARANTINE_MS, snapshotOf, TOTAL_MS } from './limit-store.fixtures.ts';
import { localFences } from './local-fences.ts';

/**
 * Steps of the clock of Redis, as by a change of the time or on a resumed machine. They let nothing
 * expire and free nothing.
 */
requirement(missingRedis, () => {
  const redis = opened(startTestRedis);
  let store: RedisLimitStore;
  let serverMs: number;
  beforeEach(async () => {
    serverMs = NOON_ISH;
    await redis.empty();
    const log = { info: () => {}, warn: () => {} };
    store = await createRedisLimitStore({
      url: redis.url,
      log,
      leaseMs: LEASE_MS,
      clock: () => serverMs,
      fences: localFences(),
      replyMs: 20_000,
    });
    await (await store.lossDetection.startOver()).open();
  });
  afterEach(() => store.close());

  const TOUCH_MS = 5_000;
  /** Passes time as with running processes, which touch Redis. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= TOUCH_MS) {
      serverMs += Math.min(left, TOUCH_MS);
      await store.lossDetection.opensInMs();
    }
  }
  const hold: Hold = {
    ...{ holdId: 'live', organizationId: 'org-1', keyId: 'key-1' },
    ...{ day: DAY, holdNanoUsd: 700n, totalTimeoutMs: TOTAL_MS },
  };
  const held = () => store.heldNanoUsd('org-1', 0);
  /** Takes a hold on the day of the clock of Redis. */
  const take = (holdId: string, holdNanoUsd: bigint, concurrency = 64) => {
    const snapshot = snapshotOf({ day: Math.floor(serverMs / DAY_MS) });
    return admitFresh(store, { holdId, holdNanoUsd, concurrency, snapshot }).then(
      (result) => (result.kind === 'refused' ? result.rule : result.kind),
      (error: unknown) => (error instanceof StoreUnavailable ? 'closed' : String(error)),
    );
  };

  test('without steps, a hold loses its slot after a lease and its money after the quarantine', async () => {
    expect(await take('live', 700n)).toBe('admitted');
    await pass(LEASE_MS - 1);
    expect(await take('more', 1n, 1)).toBe('concurrency');
    await pass(1);
    expect(await take('too much', 301n, 1)).toBe('balance');
    await pass(QUARANTINE_MS - LEASE_MS - 1);
    expect(await held()).toBe(700n);
    await pass(1);
    expect(await held()).toBe(0n);
  });

  describe.each([16_000, 120_000, 299_000, 3_600_000, 26 * 3_600_000])('steps %i ms forward', (stepMs) => {
    const isLong = stepMs > 300_000;

    test('a live hold keeps its money and its slot', async () => {
      expect(await take('live', 700n)).toBe('admitted');
      await pass(TOUCH_MS);
      serverMs += stepMs;
      expect(await take('early', 301n, 1)).toBe(isLong ? 'closed' : 'concurrency');
      expect(await store.renew([hold], 0)).toMatchObject({ takenBack: [] });
      if (isLong) await pass(LEASE_MS - 1);
      await store.renew([hold], 0);
      await pass(1);
      expect(await take('next', 301n)).toBe('balance');
      expect(await held()).toBe(700n);
    });

    test('a quarantine does not get shorter', async () => {
      expect(await take('dead', 700n)).toBe('admitted');
      await pass(2 * LEASE_MS);
      expect(await take('too much', 301n)).toBe('balance');
      serverMs += stepMs;
      expect(await held()).toBe(700n);
      // The time since the last touch is unknown and does not count.
      await pass(QUARANTINE_MS - 2 * LEASE_MS - 1);
      expect(await held()).toBe(700n);
      await pass(1);
      expect(await held()).toBe(0n);
    });
  });

  test('after a step so long that keys expired, live holds are registered again before anything is admitted', async () => {
    expect(await take('live', 700n)).toBe('admitted');
    await pass(TOUCH_MS);
    serverMs += 5 * 3_600_000;
    for (const name of await redis.admin.keys('*org-1')) await redis.admin.del(name);
    expect(await take('early', 301n)).toBe('closed');
    expect(await store.renew([hold], 0)).toMatchObject({ takenBack: ['live'], exposed: [] });
    await pass(LEASE_MS);
    expect(await take('next', 301n)).toBe('balance');
    expect(await take('fits', 300n)).toBe('admitted');
  });

  test('releases are accepted while memory is full, also after a step that could not be recorded', async () => {
    expect(await take('live', 700n)).toBe('admitted');
    serverMs += 120_000;
    await redis.admin.config('SET', 'maxmemory', '1mb');
    await store.release({ ...hold, nowMs: 0, tokensUsed: 0 });
    expect(await take('more', 1n)).toBe('closed');
    await redis.admin.config('SET', 'maxmemory', '0');
    expect(await held()).toBe(0n);
  });

  test('after a step of an hour back, leases and quarantines continue', async () => {
    expect(await take('live', 700n)).toBe('admitted');
    await pass(TOUCH_MS);
    serverMs -= 3_600_000;
    expect(await take('more', 1n, 1)).toBe('concurrency');
    await pass(LEASE_MS - TOUCH_MS);
    expect(await take('too much', 301n, 1)).toBe('balance');
    await pass(QUARANTINE_MS - LEASE_MS);
    expect(await held()).toBe(0n);
  });

  test('repeated steps back and forth free nothing before its time', async () => {
    expect(await take('dead', 700n)).toBe('admitted');
    for (let step = 0; step < 30; step++) {
      serverMs += step % 2 === 0 ? 200_000 : -200_000;
      await pass(TOUCH_MS);
    }
    expect(await held()).toBe(700n);
    await pass(QUARANTINE_MS);
    expect(await held()).toBe(0n);
  });
});

import { expect, test } from 'vitest';
import { createRedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { localFences } from './local-fences.ts';

/**
 * A name identifies one Redis. It survives every loss of data while a process with this name is
 * alive.
 */
const log = { info: () => {}, warn: () => {} };

requirement(missingRedis, () => {
  const redis = opened(startTestRedis);

  const open = () =>
    createRedisLimitStore({ url: redis.url, log, leaseMs: 1_000, clock: 'server', fences: localFences() });

  test('a name is set once and restored by a live process, and a process that finds another name is notified', async () => {
    const [one, two] = await Promise.all([open(), open()]);
    expect(await one.lossDetection.name()).toBeUndefined();
    const given = await Promise.all([one.lossDetection.name('a'), two.lossDetection.name('b')]);
    expect(new Set(given).size).toBe(1);
    const [name = ''] = given;

    let isOther = false;
    one.lossDetection.keepName(name, () => {
      isOther = true;
    });
    await redis.empty();
    await expect.poll(() => two.lossDetection.name(), { timeout: 2 * one.lossDetection.renamedWithinMs }).toBe(name);
    expect(isOther).toBe(false);

    // The first process may restore its name in between. Then the second one gets that name.
    const takeOver = async (): Promise<boolean> => {
      await redis.empty();
      return (await two.lossDetection.name('another')) === 'another';
    };
    await expect.poll(takeOver).toBe(true);
    await expect.poll(() => isOther, { timeout: 3 * one.lossDetection.renamedWithinMs }).toBe(true);
    await Promise.all([one.close(), two.close()]);
  });

  test('without the right name no shard is opened, because a foreign fence would close it for all others', async () => {
    await redis.empty();
    const fences = localFences();
    const store = await createRedisLimitStore({ url: redis.url, log, leaseMs: 100, clock: 'server', fences });
    const revision = fences.revision();
    const stayClosed = async () => {
      for (let looks = 0; looks < 3; looks++) expect(await store.lossDetection.opensInMs()).toBeGreaterThan(0);
      expect(fences.revision()).toBe(revision);
    };
    await stayClosed();
    await store.lossDetection.name('another');
    store.lossDetection.keepName('ours', () => {});
    await stayClosed();
    store.lossDetection.keepName('another', () => {});
    await expect.poll(() => store.lossDetection.opensInMs()).toBe(0);
    expect(fences.revision()).not.toBe(revision);
    await store.close();
  });
});

import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { SHARDS } from '#database/limits-ownership/shard-fences.ts';
import type { RedisLog } from '#ext-proc/limits/redis/connection.ts';
import { RedisRefused } from '#ext-proc/limits/redis/redis-errors.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { admitFresh, LEASE_MS, requestOf } from './limit-store.fixtures.ts';
import { localFences } from './local-fences.ts';
import { openEmptyStore } from './open-redis-store.ts';

const MINUTE_MS = 60_000;
const silent: RedisLog = { info: () => {}, warn: () => {} };

function open(url: string, log = silent): Promise<RedisLimitStore> {
  return createRedisLimitStore({ url, log, leaseMs: LEASE_MS, clock: 'server', fences: localFences() });
}

/** The result of a call, and the time that it took. */
async function timed(call: Promise<unknown>): Promise<{ result: unknown; ms: number }> {
  const began = performance.now();
  const result = await call.catch((error: unknown) => error);
  return { result, ms: performance.now() - began };
}

requirement(missingRedis, () => {
  const redis = opened(() => startTestRedis({ password: 'hunter2' }));
  const urlWith = (credentials: string) => redis.url.replace('//', `//${credentials}@`);

  describe('a Redis that is unavailable', () => {
    let store: RedisLimitStore;
    let lines: string[];
    beforeEach(async () => {
      lines = [];
      const log = (_fields: object, message: string) => void lines.push(message);
      store = await open(urlWith(':hunter2'), { info: log, warn: log });
    });
    afterEach(() => store.close());

    /** The fastest of several refusals, because the process may stall during one. */
    async function quickestRefusalMs(): Promise<number> {
      let quickestMs = Number.POSITIVE_INFINITY;
      for (let call = 0; call < 5; call++) {
        const { result, ms } = await timed(store.takeRead('key-1', 9, 0));
        expect(result).toBeInstanceOf(StoreUnavailable);
        quickestMs = Math.min(quickestMs, ms);
      }
      return quickestMs;
    }

    test('because it was killed refuses calls at once, and serves again when it is back', async () => {
      process.kill(redis.pid, 'SIGKILL');
      const calls = await Promise.all(Array.from({ length: 20 }, () => timed(store.takeRead('key-1', 9, 0))));
      for (const { result } of calls) expect(result).toBeInstanceOf(StoreUnavailable);
      expect(await quickestRefusalMs()).toBeLessThan(100);
      await redis.restart();
      const began = performance.now();
      await expect
        .poll(async () => (await timed(store.takeRead('key-1', 9, 0))).result)
        .toEqual({
          allowed: true,
        });
      expect(performance.now() - began).toBeLessThan(10_000);
      expect(lines.filter((line) => line.startsWith('Redis'))).toEqual(['Redis is unavailable', 'Redis is back']);
    });

    test('because its password was changed says so, and serves again with the former one', async () => {
      const setPassword = async (password: string) => {
        await redis.admin.config('SET', 'requirepass', password);
        await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
      };
      const outcome = () => store.takeRead('key-1', 9, 0).catch((error: Error) => error.message);
      await setPassword('hunter3');
      await expect.poll(outcome).toContain('WRONGPASS');
      await setPassword('hunter2');
      await expect.poll(outcome).toEqual({ allowed: true });
    });

    test('because its connections get an error refuses calls, without the password in their errors', async () => {
      const refusing = createServer((socket) => {
        socket
          .on('error', () => {})
          .resume()
          .end('-DENIED no password is configured\r\n');
      });
      const outcome = () => store.takeRead('key-1', 9, 0).catch((error: unknown) => error);
      await redis.restart(async () => {
        await once(refusing.listen(redis.port, '127.0.0.1'), 'listening');
        await expect.poll(async () => String(await outcome())).toContain('DENIED');
        const error = await outcome();
        expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
        expect(error).toBeInstanceOf(StoreUnavailable);
        const { result } = await timed(open(urlWith(':hunter2')));
        expect(inspect(result, { depth: 9 })).not.toContain('hunter2');
        refusing.close();
      });
      await expect.poll(outcome).toEqual({ allowed: true });
    });

    test('because it is frozen refuses calls after a time-out, and then at once', async () => {
      process.kill(redis.pid, 'SIGSTOP');
      try {
        const first = await timed(store.takeRead('key-1', 9, 0));
        expect(first.result).toBeInstanceOf(StoreUnavailable);
        expect(first.ms).toBeLessThan(10_000);
        await sleep(50);
        expect(await quickestRefusalMs()).toBeLessThan(100);
      } finally {
        process.kill(redis.pid, 'SIGCONT');
      }
      await expect
        .poll(async () => (await timed(store.takeRead('key-2', 9, 0))).result)
        .toEqual({
          allowed: true,
        });
    });
  });

  describe('at the start', () => {
    test('a Redis that is not running is unavailable', async () => {
      const [port] = await freePorts(1);
      const { result, ms } = await timed(open(`redis://127.0.0.1:${port}`));
      expect(result).toBeInstanceOf(StoreUnavailable);
      expect(ms).toBeLessThan(15_000);
    });

    test.each([':wrong', 'nobody:wrong', 'default:wrong'])(
      'a Redis that refuses the credentials %s is unavailable, and they are not logged',
      async (given) => {
        const logged: unknown[] = [];
        const log = (...line: unknown[]) => void logged.push(line);
        const { result } = await timed(open(urlWith(given), { info: log, warn: log }));
        expect(result).toBeInstanceOf(StoreUnavailable);
        expect(JSON.stringify([logged, String(result), result])).not.toContain('wrong');
      },
    );

    test('a user with rights only on our keys suffices', async () => {
      const rights = ['on', '>pass', '~gateway:*', 'resetchannels', '+@all', '-@dangerous', '+info'];
      await redis.admin.call('ACL', 'SETUSER', 'app', ...rights);
      const store = await open(urlWith('app:pass'));
      const beginning = await store.lossDetection.startOver();
      await beginning.open();
      const nowMs = Date.now();
      const { day } = (await store.admit(requestOf({ nowMs }))) as { day: number };
      expect(day).toBe(Math.floor(nowMs / 86_400_000));
      await store.close();
    });

    test('an eviction policy that could evict holds is refused, with the setting to change', async () => {
      await redis.admin.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
      const { result } = await timed(open(urlWith(':hunter2')));
      await redis.admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
      expect(result).toBeInstanceOf(RedisRefused);
      expect(String(result)).toContain('noeviction');
    });
  });

  test('an eviction policy that is set later is logged once', async () => {
    const lines: string[] = [];
    const log = (_fields: object, message: string) => void lines.push(message);
    const store = await open(urlWith(':hunter2'), { info: log, warn: log });
    expect(await store.lossDetection.opensInMs('all')).toBeGreaterThanOrEqual(0);
    expect(lines).toEqual([]);
    await redis.admin.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
    await store.lossDetection.opensInMs('all');
    await expect.poll(() => lines.length).toBe(1);
    await store.lossDetection.opensInMs('all');
    await redis.admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
    await store.close();
    expect(lines).toEqual([expect.stringContaining('noeviction')]);
  });

  test('a full Redis refuses admissions instead of evicting holds', async () => {
    const store = await openEmptyStore({ url: urlWith(':hunter2'), empty: redis.empty }, { leaseMs: LEASE_MS });
    const hold = requestOf();
    await admitFresh(store, hold);
    await redis.admin.config('SET', 'maxmemory', '1mb');
    const { result } = await timed(store.admit(requestOf()));
    const owed = await timed(store.release({ ...hold, tokensUsed: 1, owedNanoUsd: 1n }));
    const heldNanoUsd = await store.heldNanoUsd(hold.organizationId, hold.nowMs);
    const released = await timed(store.release({ ...hold, tokensUsed: 1, snapshot: hold.snapshot }));
    await redis.admin.config('SET', 'maxmemory', '0');
    expect(result).toBeInstanceOf(StoreUnavailable);
    expect([owed.result, heldNanoUsd, released.result]).toEqual([undefined, 1n, undefined]);
    expect(await store.heldNanoUsd(hold.organizationId, hold.nowMs)).toBe(0n);
    expect(await admitFresh(store)).toMatchObject({ kind: 'admitted' });
    await store.close();
  });

  test('a loss of data is noticed for all organizations at the first call of any', async () => {
    const store = await open(urlWith(':hunter2'));
    const beginning = await store.lossDetection.startOver();
    await beginning.open();
    expect(await store.lossDetection.opensInMs()).toBe(0);
    await redis.empty();
    await expect(store.admit(requestOf({ nowMs: Date.now() }))).rejects.toBeInstanceOf(StoreUnavailable);
    await expect.poll(async () => (await redis.admin.keys('*:shard')).length).toBe(SHARDS);
    await store.close();
  });

  test('every key expires', async () => {
    const store = await openEmptyStore({ url: urlWith(':hunter2'), empty: redis.empty }, { leaseMs: LEASE_MS });
    const hold = requestOf();
    await store.admit(requestOf({ organizationId: 'org-2', keyId: 'key-2' }));
    await admitFresh(store, hold);
    await store.renew([{ ...hold, day: 0 }], hold.nowMs);
    const owed = requestOf();
    await admitFresh(store, owed);
    await store.release({ ...owed, tokensUsed: 3, owedNanoUsd: 1n });
    await store.release({ ...hold, tokensUsed: 3, snapshot: hold.snapshot });
    await store.takeRead('key-1', 1, hold.nowMs);
    const names = await redis.admin.keys('*');
    expect(names.length).toBeGreaterThan(SHARDS);
    for (const name of names) expect([name, await redis.admin.pttl(name)]).not.toEqual([name, -1]);
    await store.close();
  });

  test('minutes, days and leases use the clock of Redis; reset times are returned by the caller’s clock', async () => {
    const store = await open(urlWith(':hunter2'));
    for (const skewMs of [0, 3_600_000, -86_400_000]) {
      const nowMs = Date.now() + skewMs;
      const key = `key-${skewMs}`;
      // Both reads must be in one minute.
      const restMs = MINUTE_MS - (Date.now() % MINUTE_MS);
      if (restMs < 15_000) await sleep(restMs);
      expect(await store.takeRead(key, 1, nowMs)).toEqual({ allowed: true });
      const sentAtMs = Date.now();
      const refused = await store.takeRead(key, 1, nowMs);
      if (refused.allowed) throw new Error('a second read was allowed');
      const toldMs = refused.resetsAtMs - nowMs;
      expect(toldMs).toBeLessThan(MINUTE_MS - (sentAtMs % MINUTE_MS) + 1_000);
      expect(toldMs).toBeGreaterThan(MINUTE_MS - (Date.now() % MINUTE_MS) - 1_000);
    }
    await store.close();
  });
});

import { afterAll, beforeAll } from 'vitest';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { limitStoreContract } from './limit-store.contract.ts';
import { limitStoreProperties } from './limit-store.properties.ts';
import { openEmptyStore } from './open-redis-store.ts';

requirement(missingRedis, () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startTestRedis();
  });
  afterAll(() => redis?.stop());

  limitStoreContract('Redis', (options) => openEmptyStore(redis, options));
  limitStoreProperties('Redis', (options) => openEmptyStore(redis, options));
});

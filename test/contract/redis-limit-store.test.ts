import { afterAll, beforeAll } from 'vitest';
import { requirement } from '../requirement.ts';
import { limitStoreContract } from './limit-store.contract.ts';
import { limitStoreProperties } from './limit-store.properties.ts';
import { openEmptyStore } from './open-redis-store.ts';
import { missingRedis, startTestRedis, type TestRedis } from './redis-server.ts';

requirement(missingRedis, () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startTestRedis();
  });
  afterAll(() => redis?.stop());

  limitStoreContract('Redis', (options) => openEmptyStore(redis, options));
  limitStoreProperties('Redis', (options) => openEmptyStore(redis, options));
});

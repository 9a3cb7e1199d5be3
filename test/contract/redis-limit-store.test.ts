import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { limitStoreContract } from './limit-store.contract.ts';
import { limitStoreProperties } from './limit-store.properties.ts';
import { openEmptyStore } from './open-redis-store.ts';

requirement(missingRedis, () => {
  const redis = opened(startTestRedis);

  limitStoreContract('Redis', (options) => openEmptyStore(redis, options));
  limitStoreProperties('Redis', (options) => openEmptyStore(redis, options));
});

import type { Redis } from 'ioredis';
import { RedisRefused } from './refused.ts';

/**
 * A key as ours are named (shards.ts), of a shard that there is not: nothing is ever done to it.
 */
const KEY = 'gateway:{rights}:none';
/** Every command that runs scripts, or that they call. */
const CALLS: readonly (readonly string[])[] = [
  ['EVALSHA', '0'.repeat(40), '0'],
  ['INFO', 'server'],
  ['TIME'],
  ['DEL', KEY],
  ['PEXPIRE', KEY, '1'],
  ['HGET', KEY, 'field'],
  ['HMGET', KEY, 'field'],
  ['HSET', KEY, 'field', '1'],
  ['HDEL', KEY, 'field'],
  ['HEXISTS', KEY, 'field'],
  ['HINCRBY', KEY, 'field', '1'],
  ['ZADD', KEY, '1', 'member'],
  ['ZREM', KEY, 'member'],
  ['ZCARD', KEY],
  ['ZRANGEBYSCORE', KEY, '0', '1'],
  ['SADD', KEY, 'member'],
  ['SREM', KEY, 'member'],
];

/** Asks, and does none of it. Redis before 7.0 cannot be asked. */
const ASK = `local missing = {}
if not redis.acl_check_cmd then
  return missing
end
for _, call in ipairs(cjson.decode(ARGV[1])) do
  if not redis.acl_check_cmd(unpack(call)) then
    missing[#missing + 1] = call[1]
  end
end
return missing`;

/**
 * A right that is missing would show itself in the middle of some script, as an error of that
 * script. docs/stores.md has the rights that suffice, and test/contract/redis-access.test.ts takes
 * them from there.
 */
export async function refuseMissingRights(redis: Redis): Promise<void> {
  const missing = (await redis.call('EVAL', ASK, 0, JSON.stringify(CALLS))) as string[];
  if (missing.length === 0) return;
  throw new RedisRefused(
    `the Redis user lacks rights to keys that begin with gateway: or to these commands: ${missing.join(', ')}. docs/stores.md has the line that gives them.`,
  );
}

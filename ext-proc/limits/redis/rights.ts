import type { Redis } from 'ioredis';
import { RedisRefused } from './redis-errors.ts';

/** A key with a name like ours (redis-keys.ts), of a shard that does not exist. Never written. */
const KEY = 'gateway:{rights}:none';
/** Every command that the gateway or its scripts use. */
const CALLS: readonly (readonly string[])[] = [
  ['EVALSHA', '0'.repeat(40), '0'],
  ['INFO', 'server'],
  ['TIME'],
  ['DEL', KEY],
  ['PEXPIRE', KEY, '1'],
  ['HGET', KEY, 'field'],
  ['HMGET', KEY, 'field'],
  ['HGETALL', KEY],
  ['HLEN', KEY],
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

/** Checks rights without running the commands. Redis before 7.0 cannot do this. */
const CHECK = `local missing = {}
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
 * Reports missing rights at the start. Later they would let a script fail halfway.
 * docs/stores.md, "Redis", has the sufficient rights; test/contract/redis-access.test.ts tests
 * them.
 */
export async function refuseMissingRights(redis: Redis): Promise<void> {
  const missing = (await redis.call('EVAL', CHECK, 0, JSON.stringify(CALLS))) as string[];
  if (missing.length === 0) return;
  throw new RedisRefused(
    `the Redis user lacks rights to keys that begin with gateway: or to these commands: ${missing.join(', ')}. docs/stores.md has the line that gives them.`,
  );
}

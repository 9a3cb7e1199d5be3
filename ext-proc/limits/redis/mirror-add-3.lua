-- Stores the copy of a charge that waits, unless its idempotency key was promised to another
-- request.
--
-- KEYS  1 sorted set, index of the shard's copies: organization|generation id by the ms of arrival
--       2 hash, their texts
--       3 hash that exists if the claim was taken over (take-over-claim-2.lua)
-- ARGV  1 organization id   2 generation id   3 text   4 most copies of a shard   5 TTL in ms
-- Returns  kept | taken_over | full

if redis.call('HEXISTS', KEYS[3], 'given_up') == 1 then
  return 'taken_over'
end
local id = ARGV[1] .. '|' .. ARGV[2]
if redis.call('HEXISTS', KEYS[2], id) == 0 and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then
  return 'full'
end
redis.call('ZADD', KEYS[1], string.format('%d', clock('')), id)
redis.call('HSET', KEYS[2], id, ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 'kept'

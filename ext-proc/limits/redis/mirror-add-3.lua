-- Keeps a copy of a spooled charge.
--
-- KEYS  1 index of the shard's copies: organization|generation id, scored by the time when they
--       came   2 their texts   3 hash that is there when
--       the attempt was given up
-- ARGV  1 organization id   2 generation id   3 text   4 most copies of a shard   5 ms until they
--       are forgotten
-- Returns  kept | given_up | full

if redis.call('HEXISTS', KEYS[3], 'given_up') == 1 then
  return 'given_up'
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

-- Removes the copy of a charge that waits.
--
-- KEYS  1 index of the shard's copies   2 their texts (mirror-add-3.lua)
-- ARGV  1 organization|generation id
-- Returns  nothing

redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])

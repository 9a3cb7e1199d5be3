-- Claims the right to raise fences for the shards of this Redis, or gives it back. One process at a
-- time raises: a second fence for an incarnation that is about to get its first one would shut it
-- out if the process that raised it ended before it gave it.
--
-- KEYS  1 hash with the claim
-- ARGV  1 random text of the process   2 ms after which the claim expires, 0 gives it back
-- Returns  1: this process has the claim; 0: it does not

local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] then
  return 0
end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1

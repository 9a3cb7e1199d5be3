-- Takes the lock under which fences are raised for the shards of this Redis, or releases it. Only
-- one process at a time may raise. Otherwise a second process could raise a fence for an
-- incarnation that is about to get its first one, and end before it has given it. The incarnation
-- would then be fenced off.
--
-- KEYS  1 hash with the lock
-- ARGV  1 random text of the process   2 ms after which the lock expires, 0 releases it
-- Returns  1: this process has the lock; 0: it does not

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

-- Gives an attempt with an Idempotency-Key up, unless it has ended in a spool.
--
-- KEYS  1 texts of the shard's copies of spooled charges   2 hash that is there when the attempt
--       was given up
-- ARGV  1 organization|generation id   2 ms for which it is remembered
-- Returns  1: it was given up; 0: it has ended

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[2], 'given_up', '1')
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1

-- Opens a shard to admissions at once, if its incarnation is still the one that the caller began.
--
-- KEYS  1 shard
-- ARGV  1 nonce
-- Returns  1 when it is open now, else 0

if redis.call('HGET', KEYS[1], 'nonce') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'opens', 0)
return 1

-- Opens shards to admissions at once, where their incarnation is still the one that the caller
-- began.
--
-- KEYS  the shards
-- ARGV  1 nonce
-- Returns  how many it opened

local opened = 0
for _, shard in ipairs(KEYS) do
  if redis.call('HGET', shard, 'nonce') == ARGV[1] then
    redis.call('HSET', shard, 'opens', '0')
    opened = opened + 1
  end
end
return opened

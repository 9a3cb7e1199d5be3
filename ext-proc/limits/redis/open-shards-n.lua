-- Opens shards without waiting for a lease, if their incarnations are the ones that the caller
-- began (touch-shards-n.lua).
--
-- KEYS  the shards
-- ARGV  1 nonce of those incarnations
-- Returns  how many it opened

local opened = 0
for _, shard in ipairs(KEYS) do
  if redis.call('HGET', shard, 'nonce') == ARGV[1] then
    redis.call('HSET', shard, 'opens', '0')
    opened = opened + 1
  end
end
return opened

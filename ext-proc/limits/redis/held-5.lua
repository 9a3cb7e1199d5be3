-- Reads the sum of an organization's holds, quarantine included, after expiring what is due.
--
-- KEYS  1 shard  2 org  3 holds  4 leases  5 quarantine
-- ARGV  1 clock (shared.lua)
--       2 lease in ms
--       3 TTL of idle keys in ms
--       4 prefix of key hashes
-- Returns  the amount as text

local shard, org = KEYS[1], KEYS[2]
local now, of_server = clock(ARGV[1])
local incarnation, _, shard_now = incarnation_of(shard, run_id(), now, of_server, tonumber(ARGV[2]), 0)
local stored = redis.call('HMGET', org, 'incarnation', 'ends')
if stored[1] ~= incarnation then
  return '0'
end
expire_holds(org, KEYS[3], KEYS[4], KEYS[5], ARGV[4], tonumber(stored[2]), shard_now, ARGV[3])
return redis.call('HGET', org, 'held')

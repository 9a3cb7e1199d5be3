-- What is held against an organization's balance now, quarantine included.
--
-- KEYS  1 shard  2 org  3 holds  4 leases
-- ARGV  1 clock, or '' for the server's   2 lease in ms   3 prefix of key hashes
-- Returns  the amount as text

local shard, org, holds, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = clock(ARGV[1])
local incarnation = incarnation_of(shard, run_id(), now, tonumber(ARGV[2]))
if redis.call('HGET', org, 'incarnation') ~= incarnation then
  return '0'
end
lapse(org, holds, leases, ARGV[3], now)
return redis.call('HGET', org, 'held')

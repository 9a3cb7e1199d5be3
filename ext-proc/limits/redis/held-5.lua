-- Sum of the holds against an organization's balance now, quarantine included.
--
-- KEYS  1 shard  2 org  3 holds  4 leases  5 quarantine
-- ARGV  1 clock (shared.lua)   2 lease in ms   3 ms until what is idle is forgotten   4 prefix of
--       key hashes
-- Returns  the amount as text

local shard, org = KEYS[1], KEYS[2]
local now, steps = clock(ARGV[1])
local incarnation, _, at = incarnation_of(shard, run_id(), now, steps, tonumber(ARGV[2]), 0)
local of = redis.call('HMGET', org, 'incarnation', 'ends')
if of[1] ~= incarnation then
  return '0'
end
lapse(org, KEYS[3], KEYS[4], KEYS[5], ARGV[4], tonumber(of[2]), at, ARGV[3])
return redis.call('HGET', org, 'held')

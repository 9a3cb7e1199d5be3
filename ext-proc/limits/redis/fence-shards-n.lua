-- Gives shards their fences, and returns the incarnations without one. The lease in which a new
-- incarnation admits nothing begins here. When the lease ends, all calls have ended that another
-- master still received from processes that did not know the new fence.
--
-- Two processes may find the same incarnation and raise a fence each. The older fence may arrive
-- first, so a newer one replaces it: PostgreSQL has the newer one, and an incarnation without it
-- would be fenced off for good.
--
-- Incarnations of a server that may evict keys are not returned, so they get no fence and stay
-- closed.
--
-- KEYS  the shards
-- ARGV  1 clock (shared.lua)
--       2 lease in ms
--       3… for each shard: the incarnation that had no fence before the new one was raised, and the
--         new fence; or '', ''
-- Returns  for each shard its incarnation if it has no fence, else ''

local lease_ms, run, unfenced = tonumber(ARGV[2]), run_id(), {}
local now, of_server = clock(ARGV[1])
local is_safe = not evicts()
for i, shard in ipairs(KEYS) do
  local marker = redis.call('HMGET', shard, 'run', 'incarnation', 'fence', 'touched', 'skipped')
  local found, fence = ARGV[1 + 2 * i], marker[3]
  local is_newer = fence == '' or (tonumber(fence) or 0) < (tonumber(ARGV[2 + 2 * i]) or 0)
  if found ~= '' and marker[1] == run and marker[2] == found and is_newer then
    fence = ARGV[2 + 2 * i]
    local shard_now = shard_clock(shard, now, of_server, marker[4], marker[5], 0, lease_ms, true)
    redis.call('HSET', shard, 'fence', fence, 'opens', string.format('%d', shard_now + lease_ms))
  end
  unfenced[i] = is_safe and marker[1] == run and fence == '' and marker[2] or ''
end
return unfenced

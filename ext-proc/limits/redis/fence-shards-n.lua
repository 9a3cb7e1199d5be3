-- Gives shards their fences, and returns those without one. The lease for which a new incarnation
-- admits nothing begins here: every call that another master got from a process without the new
-- fence has ended when it is over.
--
-- KEYS  the shards
-- ARGV  1 clock (shared.lua)   2 lease in ms   3… for each shard: the incarnation that had no fence
--       before it was raised, the fence; or '', ''
-- Returns  for each shard its incarnation if it has no fence, else ''

local lease_ms, run, unfenced = tonumber(ARGV[2]), run_id(), {}
local now, steps = clock(ARGV[1])
for i, shard in ipairs(KEYS) do
  local marker = redis.call('HMGET', shard, 'run', 'incarnation', 'fence', 'touched', 'skipped')
  local incarnation = marker[1] == run and marker[3] == '' and marker[2] or ''
  if incarnation ~= '' and incarnation == ARGV[1 + 2 * i] then
    local at = shard_clock(shard, now, steps, marker[4], marker[5], 0, lease_ms, true)
    redis.call('HSET', shard, 'fence', ARGV[2 + 2 * i], 'opens', string.format('%d', at + lease_ms))
    incarnation = ''
  end
  unfenced[i] = incarnation
end
return unfenced

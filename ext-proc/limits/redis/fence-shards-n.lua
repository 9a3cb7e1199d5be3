-- Gives shards their fences, and returns the incarnations without one. The lease in which a new
-- incarnation admits nothing begins here. When it ends, so have all calls that another master still
-- got from processes that did not know the new fence.
--
-- KEYS  the shards
-- ARGV  1 clock (shared.lua)
--       2 lease in ms
--       3… for each shard: the incarnation that had no fence before the new one was raised, and the
--         new fence; or '', ''
-- Returns  for each shard its incarnation if it has no fence, else ''

local lease_ms, run, unfenced = tonumber(ARGV[2]), run_id(), {}
local now, of_server = clock(ARGV[1])
for i, shard in ipairs(KEYS) do
  local marker = redis.call('HMGET', shard, 'run', 'incarnation', 'fence', 'touched', 'skipped')
  local incarnation = marker[1] == run and marker[3] == '' and marker[2] or ''
  if incarnation ~= '' and incarnation == ARGV[1 + 2 * i] then
    local shard_now = shard_clock(shard, now, of_server, marker[4], marker[5], 0, lease_ms, true)
    redis.call('HSET', shard, 'fence', ARGV[2 + 2 * i], 'opens', string.format('%d', shard_now + lease_ms))
    incarnation = ''
  end
  unfenced[i] = incarnation
end
return unfenced

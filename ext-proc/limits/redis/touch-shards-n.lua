-- Keeps the markers of the shards from expiring, and their clocks running. Begins a new incarnation
-- where the marker is missing or is of another Redis process, or everywhere on request.
--
-- KEYS  the shards
-- ARGV  1 clock (shared.lua)
--       2 lease in ms
--       3 nonce, by which open-shards-n.lua recognizes the incarnations
--       4 whether to begin new incarnations everywhere: 1 or 0
--       5… newest fence of each shard that the caller knows
-- Returns  ms until the first and until the last shard admits (a lease for one without a fence),
--          number of shards that do not admit, number of shards fenced off, 1 if this server may
--          evict keys, else 0

local lease_ms, run = tonumber(ARGV[2]), run_id()
local first_ms, last_ms, closed, fenced_off = lease_ms, 0, 0, 0
local now, of_server = clock(ARGV[1])

for i, shard in ipairs(KEYS) do
  local marker = redis.call('HMGET', shard, 'run', 'opens', 'touched', 'skipped', 'fence')
  local closed_ms = lease_ms
  if marker[1] == run and ARGV[4] == '0' then
    local shard_now, opens = shard_clock(shard, now, of_server, marker[3], marker[4], tonumber(marker[2]), lease_ms, true)
    redis.call('HSET', shard, 'touched', now)
    redis.call('PEXPIRE', shard, SHARD_TTL_MS)
    local opens_ms = opens_in(shard, opens, shard_now, lease_ms)
    local fence = tonumber(marker[5])
    if fence and fence >= tonumber(ARGV[4 + i]) then
      closed_ms = opens_ms
    elseif fence then
      fenced_off = fenced_off + 1
    end
  else
    begin_incarnation(shard, run, now, of_server, now + lease_ms, ARGV[3])
  end
  first_ms, last_ms = math.min(first_ms, closed_ms), math.max(last_ms, closed_ms)
  closed = closed + (closed_ms > 0 and 1 or 0)
end

return { first_ms, last_ms, closed, fenced_off, evicts() and 1 or 0 }

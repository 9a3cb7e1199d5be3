-- Keeps the markers of shards from expiring and their clocks going, begins a new incarnation where the present one is over, or where `anew` says
-- that what is kept there must not be believed any more.
--
-- KEYS  the shards
-- ARGV  1 clock (shared.lua)   2 lease in ms   3 nonce, by which open-shards-n.lua knows the incarnation   4 anew: 1 or 0
-- Returns  ms until all of them admit   the maxmemory-policy by which this server may evict keys, '' where it does not

local lease_ms, run, closed_ms = tonumber(ARGV[2]), run_id(), 0
local now, steps = clock(ARGV[1])

for _, shard in ipairs(KEYS) do
  local marker = redis.call('HMGET', shard, 'run', 'opens', 'touched', 'skipped')
  if marker[1] == run and ARGV[4] == '0' then
    local at, opens = shard_clock(shard, now, steps, marker[3], marker[4], tonumber(marker[2]), lease_ms, true)
    redis.call('HSET', shard, 'touched', now)
    redis.call('PEXPIRE', shard, SHARD_TTL_MS)
    closed_ms = math.max(closed_ms, opens_in(shard, opens, at, lease_ms))
  else
    begin_incarnation(shard, run, now, steps, now + lease_ms, ARGV[3])
    closed_ms = lease_ms
  end
end

local memory = redis.call('INFO', 'memory')
local policy = string.match(memory, 'maxmemory_policy:(%S+)') or 'noeviction'
local evicts = policy ~= 'noeviction' and (string.match(memory, 'maxmemory:(%d+)') or '0') ~= '0'
return { closed_ms, evicts and policy or '' }

-- Keeps the markers of shards from expiring and their clocks going, begins a new incarnation if the
-- present one is over, or if `anew` says that its state must not be trusted any more.
--
-- KEYS  the shards
-- ARGV  1 clock (shared.lua)   2 lease in ms   3 nonce, by which open-shards-n.lua knows the
--       incarnation   4 `anew`: 1 or 0
--       5… the newest fence that is known of each
-- Returns  ms until all of them admit, a lease while one has no fence   the maxmemory-policy by
--          which this server may evict keys, '' where it
--       does not   how many shards are fenced off

local lease_ms, run, closed_ms, fenced_off = tonumber(ARGV[2]), run_id(), 0, 0
local now, steps = clock(ARGV[1])

for i, shard in ipairs(KEYS) do
  local marker = redis.call('HMGET', shard, 'run', 'opens', 'touched', 'skipped', 'fence')
  local newest = tonumber(ARGV[4 + i])
  if marker[1] == run and ARGV[4] == '0' then
    local at, opens = shard_clock(shard, now, steps, marker[3], marker[4], tonumber(marker[2]), lease_ms, true)
    redis.call('HSET', shard, 'touched', now)
    redis.call('PEXPIRE', shard, SHARD_TTL_MS)
    closed_ms = math.max(closed_ms, opens_in(shard, opens, at, lease_ms))
    local fence = marker[5]
    if not fence then
      -- The former release began it: before any fence was raised it goes on, later it has to be
      -- opened as any other.
      fence = newest == 0 and '0' or ''
      redis.call('HSET', shard, 'fence', fence)
    end
    if fence == '' then
      closed_ms = lease_ms
    elseif tonumber(fence) < newest then
      closed_ms, fenced_off = lease_ms, fenced_off + 1
    end
  else
    begin_incarnation(shard, run, now, steps, now + lease_ms, ARGV[3])
    closed_ms = lease_ms
  end
end

local memory = redis.call('INFO', 'memory')
local policy = string.match(memory, 'maxmemory_policy:(%S+)') or 'noeviction'
local evicts = policy ~= 'noeviction' and (string.match(memory, 'maxmemory:(%d+)') or '0') ~= '0'
return { closed_ms, evicts and policy or '', fenced_off }

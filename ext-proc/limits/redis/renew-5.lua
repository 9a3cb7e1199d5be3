-- Extends the leases of one organization's live holds, also of those that are in quarantine. What
-- is not known is taken back in: without its tokens, because the windows were forgotten too. A hold
-- whose charge waits in a spool is taken back only while the shard is closed: later it is unknown
-- because another process made the charge and released it.
--
-- KEYS  1 shard  2 org  3 holds  4 leases  5 quarantine
-- ARGV  1 clock (shared.lua)   2 lease in ms   3 ms until what is idle is forgotten   4 prefix of
--       key hashes
--       5 id of the organization ; 6 the newest fence that is known of the shard ; 7… for each
--         hold: its id, key id, day, amount, ms of quarantine, whether its charge waits in a
--         spool (1 or 0)
-- Returns  whether the shard admits: 1 or 0, -1 when it is fenced off and nothing was done   then
--          the ids that were taken back in

local shard, org, holds, leases, quarantine = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local lease_ms, ttl_ms, key_prefix = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local OF_NO_MINUTE = '-1'
local now, steps = clock(ARGV[1])
local incarnation, open, at, fenced_off = incarnation_of(shard, run_id(), now, steps, lease_ms, tonumber(ARGV[6]))
if fenced_off then
  return { -1 }
end

local function recover_here()
  recover(shard, incarnation, org, holds, leases, quarantine, at, lease_ms, ttl_ms)
  open = false
end

local of = redis.call('HMGET', org, 'incarnation', 'opens', 'ends')
if of[1] == incarnation then
  lapse(org, holds, leases, quarantine, key_prefix, tonumber(of[3]), at, ttl_ms)
  open = open and (tonumber(of[2]) or 0) <= at
  local left = redis.call('ZCARD', leases) == 0 and redis.call('HMGET', org, 'held', 'ends')
  if left and tonumber(left[1]) > 0 and not left[2] then
    recover_here()
  end
elseif not of[1] and is_lost(shard, incarnation, ARGV[5], leases, quarantine, at, ttl_ms) then
  recover_here()
else
  redis.call('DEL', org, holds, leases, quarantine)
  redis.call('HSET', org, 'incarnation', incarnation, 'generation', next_generation(shard), 'trusted', 0, 'round', 0,
    'epoch', '', 'sequence', -1, 'balance', 0, 'held', 0, 'requests', 0, 'tokens', 0)
end

local function take_back(hold_id, key_id, day, amount, span)
  local key = key_prefix .. key_id
  if redis.call('HGET', key, 'incarnation') ~= incarnation then
    redis.call('DEL', key)
    redis.call('HSET', key, 'incarnation', incarnation, 'trusted', '', 'requests', 0, 'tokens', 0)
  end
  redis.call('HSET', holds, hold_id, string.format('%d', at + span) .. '/' .. span .. '|' .. key_id .. '|' .. day .. '|' .. OF_NO_MINUTE .. '|0|' .. amount)
  redis.call('HINCRBY', org, 'held', amount)
  add_to_day(org, day, amount)
  add_to_day(key, day, amount)
end

local reply = { 0 }
for i = 7, #ARGV, 6 do
  local hold_id, key_id = ARGV[i], ARGV[i + 1]
  local record = redis.call('HGET', holds, hold_id)
  local is_new = redis.call('ZADD', leases, string.format('%d', at + lease_ms), hold_id) == 1
  if not record then
    if not is_new then
      recover_here()
      redis.call('ZADD', leases, string.format('%d', at + lease_ms), hold_id)
    end
    if open and ARGV[i + 5] == '1' then
      redis.call('ZREM', leases, hold_id)
    else
      take_back(hold_id, key_id, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
      reply[#reply + 1] = hold_id
    end
  elseif string.sub(record, 1, 1) == 'q' then
    redis.call('HSET', holds, hold_id, string.sub(record, 2))
    redis.call('ZREM', quarantine, hold_id)
  end
  redis.call('PEXPIRE', key_prefix .. key_id, ttl_ms)
end
for _, name in ipairs({ org, holds, leases }) do
  redis.call('PEXPIRE', name, ttl_ms)
end
note_known(shard, incarnation, ARGV[5], at)
reply[1] = open and 1 or 0
return reply

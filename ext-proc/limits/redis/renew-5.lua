-- Renews the leases of one organization's holds, also of those in quarantine, which become live
-- again. An unknown hold is registered again, without its tokens: the windows were lost too. A
-- spooled hold is registered again only while the shard is closed: in an open one it is unknown
-- because another process made its charge and released it.
--
-- KEYS  1 shard  2 org  3 holds  4 leases  5 quarantine
-- ARGV  1 clock (shared.lua)
--       2 lease in ms
--       3 TTL of idle keys in ms
--       4 prefix of key hashes
--       5 id of the organization
--       6 newest fence of the shard that the caller knows
--       7… for each hold: id, key id, day, amount, ms of quarantine, 1 if its charge waits in a
--         spool, else 0
-- Returns  1 if the shard admits, 0 if not, -1 if it is fenced off and nothing was done; then the
--          ids that were registered again

local shard, org, holds, leases, quarantine = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local lease_ms, ttl_ms, key_prefix = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local OF_NO_MINUTE = '-1'
local now, of_server = clock(ARGV[1])
local incarnation, admits, shard_now, fenced_off = incarnation_of(shard, run_id(), now, of_server, lease_ms, tonumber(ARGV[6]))
if fenced_off then
  return { -1 }
end

local function recover_here()
  recover(shard, incarnation, org, holds, leases, quarantine, shard_now, lease_ms, ttl_ms)
  admits = false
end

local stored = redis.call('HMGET', org, 'incarnation', 'opens', 'ends')
if stored[1] == incarnation then
  expire_holds(org, holds, leases, quarantine, key_prefix, tonumber(stored[3]), shard_now, ttl_ms)
  admits = admits and (tonumber(stored[2]) or 0) <= shard_now
  local left = redis.call('ZCARD', leases) == 0 and redis.call('HMGET', org, 'held', 'ends')
  if left and tonumber(left[1]) > 0 and not left[2] then
    recover_here()
  end
elseif not stored[1] and is_lost(shard, incarnation, ARGV[5], leases, quarantine, shard_now, ttl_ms) then
  recover_here()
else
  redis.call('DEL', org, holds, leases, quarantine)
  redis.call('HSET', org, 'incarnation', incarnation, 'generation', next_trust_counter(shard), 'trusted', 0, 'round', 0,
    'epoch', '', 'sequence', -1, 'balance', 0, 'held', 0, 'requests', 0, 'tokens', 0)
end

local function take_back(hold_id, key_id, day, amount, span)
  local key = key_prefix .. key_id
  if redis.call('HGET', key, 'incarnation') ~= incarnation then
    redis.call('DEL', key)
    redis.call('HSET', key, 'incarnation', incarnation, 'trusted', '', 'requests', 0, 'tokens', 0)
  end
  redis.call('HSET', holds, hold_id, string.format('%d', shard_now + span) .. '/' .. span .. '|' .. key_id .. '|' .. day .. '|' .. OF_NO_MINUTE .. '|0|' .. amount)
  redis.call('HINCRBY', org, 'held', amount)
  add_to_day(org, day, amount)
  add_to_day(key, day, amount)
end

local reply = { 0 }
for i = 7, #ARGV, 6 do
  local hold_id, key_id = ARGV[i], ARGV[i + 1]
  local record = redis.call('HGET', holds, hold_id)
  local is_new = redis.call('ZADD', leases, string.format('%d', shard_now + lease_ms), hold_id) == 1
  if not record then
    if not is_new then
      recover_here()
      redis.call('ZADD', leases, string.format('%d', shard_now + lease_ms), hold_id)
    end
    if admits and ARGV[i + 5] == '1' then
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
note_known(shard, incarnation, ARGV[5], shard_now)
reply[1] = admits and 1 or 0
return reply

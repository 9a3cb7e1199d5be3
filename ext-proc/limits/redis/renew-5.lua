-- Renews the leases of one organization's holds. Holds in quarantine become live again. An unknown
-- hold is registered again, but without its tokens, because the windows were lost too. An owed hold
-- has no slot, and is registered again only while the shard is closed. In an open shard it is
-- unknown because another process made its charge and released it.
--
-- KEYS  1 shard  2 org  3 holds  4 leases  5 quarantine
-- ARGV  1 clock (shared.lua)
--       2 lease in ms
--       3 TTL of idle keys in ms
--       4 prefix of key hashes
--       5 id of the organization
--       6 newest fence of the shard that the caller knows
--       7… for each hold: id, key id, day, amount, ms of quarantine, o if it is owed, else ''
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
  if redis.call('ZCARD', leases) == 0 and tonumber(redis.call('HGET', org, 'held')) > 0 and misses_leases(holds, quarantine) then
    recover_here()
  end
elseif not stored[1] and is_lost(shard, incarnation, ARGV[5], leases, quarantine, shard_now, ttl_ms) then
  recover_here()
else
  redis.call('DEL', org, holds, leases, quarantine)
  redis.call('HSET', org, 'incarnation', incarnation, 'generation', next_trust_counter(shard), 'trusted', 0, 'round', 0,
    'epoch', '', 'sequence', -1, 'balance', 0, 'held', 0, 'requests', 0, 'tokens', 0)
end

local expires_at = shard_now + lease_ms

local function renew(hold_id, record)
  local state = string.sub(record, 1, 1)
  if state == 'o' then
    local _, _, _, _, _, until_at, span = parse_hold(record)
    local ends, first = end_after(expires_at, until_at, span), tonumber(redis.call('HGET', org, 'ends'))
    if not first or ends < first then
      redis.call('HSET', org, 'ends', string.format('%d', ends))
    end
    redis.call('ZADD', quarantine, string.format('%d', ends), hold_id)
    return
  end
  redis.call('ZADD', leases, string.format('%d', expires_at), hold_id)
  if state == 'q' then
    redis.call('HSET', holds, hold_id, string.sub(record, 2))
    redis.call('ZREM', quarantine, hold_id)
  end
end

local function take_back(hold_id, key_id, day, amount, span, state)
  local key = key_prefix .. key_id
  if redis.call('HGET', key, 'incarnation') ~= incarnation then
    redis.call('DEL', key)
    redis.call('HSET', key, 'incarnation', incarnation, 'trusted', '', 'requests', 0, 'tokens', 0)
  end
  local record = state .. string.format('%d', shard_now + span) .. '/' .. span .. '|' .. key_id .. '|' .. day .. '|' .. OF_NO_MINUTE .. '|0|' .. amount
  redis.call('HSET', holds, hold_id, record)
  redis.call('HINCRBY', org, 'held', amount)
  add_to_day(org, day, amount)
  add_to_day(key, day, amount)
  renew(hold_id, record)
end

local reply = { 0 }
for i = 7, #ARGV, 6 do
  local hold_id, key_id, state = ARGV[i], ARGV[i + 1], ARGV[i + 5]
  local record = redis.call('HGET', holds, hold_id)
  if record then
    renew(hold_id, record)
  else
    if redis.call('ZREM', leases, hold_id) + redis.call('ZREM', quarantine, hold_id) > 0 then
      recover_here()
    end
    if not (admits and state == 'o') then
      take_back(hold_id, key_id, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], state)
      reply[#reply + 1] = hold_id
    end
  end
  redis.call('PEXPIRE', key_prefix .. key_id, ttl_ms)
end
for _, name in ipairs({ org, holds, leases, quarantine }) do
  redis.call('PEXPIRE', name, ttl_ms)
end
note_known(shard, incarnation, ARGV[5], shard_now)
reply[1] = admits and 1 or 0
return reply

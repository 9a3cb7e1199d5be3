-- Extends the leases of one organization's live holds, also of those that are in quarantine. What is not known is taken back in: without its
-- tokens, because the windows were forgotten too.
--
-- KEYS  1 shard  2 org  3 holds  4 leases
-- ARGV  1 clock, or '' for the server's   2 lease in ms   3 ms until what is idle is forgotten   4 prefix of key hashes
--       5… for each hold: its id, key id, day, amount, ms of quarantine
-- Returns  whether the shard admits: 1 or 0   then the ids that were not known

local shard, org, holds, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local lease_ms, ttl_ms, key_prefix = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local OF_NO_MINUTE = '-1'
local now = clock(ARGV[1])
local incarnation, open = incarnation_of(shard, run_id(), now, lease_ms)
if redis.call('HGET', org, 'incarnation') == incarnation then
  lapse(org, holds, leases, key_prefix, now)
else
  redis.call('DEL', org, holds, leases)
  redis.call('HSET', org, 'incarnation', incarnation, 'generation', next_generation(shard), 'trusted', 0, 'round', 0,
    'epoch', '', 'sequence', -1, 'balance', 0, 'held', 0, 'requests', 0, 'tokens', 0)
end

local function take_back(hold_id, key_id, day, amount, span)
  local key = key_prefix .. key_id
  if redis.call('HGET', key, 'incarnation') ~= incarnation then
    redis.call('DEL', key)
    redis.call('HSET', key, 'incarnation', incarnation, 'trusted', '', 'requests', 0, 'tokens', 0)
  end
  redis.call('HSET', holds, hold_id, string.format('%d', now + span) .. '/' .. span .. '|' .. key_id .. '|' .. day .. '|' .. OF_NO_MINUTE .. '|0|' .. amount)
  redis.call('HINCRBY', org, 'held', amount)
  add_to_day(org, day, amount)
  add_to_day(key, day, amount)
end

local reply = { open and 1 or 0 }
for i = 5, #ARGV, 5 do
  local hold_id, key_id = ARGV[i], ARGV[i + 1]
  local record = redis.call('HGET', holds, hold_id)
  if not record then
    take_back(hold_id, key_id, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
    reply[#reply + 1] = hold_id
  elseif string.sub(record, 1, 1) == 'q' then
    redis.call('HSET', holds, hold_id, string.sub(record, 2))
  end
  redis.call('ZADD', leases, string.format('%d', now + lease_ms), hold_id)
  redis.call('PEXPIRE', key_prefix .. key_id, ttl_ms)
end
for _, name in ipairs({ org, holds, leases }) do
  redis.call('PEXPIRE', name, ttl_ms)
end
return reply

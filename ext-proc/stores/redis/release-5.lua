-- Ends a hold: frees slot and hold, corrects the token windows of the admission's minute, learns the snapshot. Repeating it changes nothing.
--
-- KEYS  1 shard  2 org  3 key  4 holds  5 leases
-- ARGV  1 clock, or '' for the server's   2 prefix of key hashes   3 hold id   4 tokens used
--       5 ledger epoch, '' without a snapshot   6-9 the organization's sequence, day, balance, spent   10-12 the key's sequence, day, spent
-- Returns  1 when the hold was held, else 0

local shard, org, key, holds, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local hold_id, epoch = ARGV[3], ARGV[5]
local now = clock(ARGV[1])
-- Whether the incarnation is over is asked by admissions and renewals: what is told to one that is over is lost with it.
local incarnation = redis.call('HGET', shard, 'incarnation')
if not incarnation or redis.call('HGET', org, 'incarnation') ~= incarnation then
  return 0
end
lapse(org, holds, leases, ARGV[2], now)
local o = redis.call('HMGET', org, 'generation', 'trusted', 'epoch', 'sequence', 'minute', 'spent:' .. ARGV[7])
local k = redis.call('HMGET', key, 'incarnation', 'minute', 'spent:' .. ARGV[11])
local key_is_known = k[1] == incarnation

-- First, because a script may write on when memory is full if it has begun with what takes none.
local record = redis.call('HGET', holds, hold_id)
if record then
  local minute, tokens = free(org, holds, leases, ARGV[2], hold_id, record)
  if o[5] and tonumber(o[5]) == minute then
    redis.call('HINCRBY', org, 'tokens', tonumber(ARGV[4]) - tokens)
  end
  if key_is_known and k[2] and tonumber(k[2]) == minute then
    redis.call('HINCRBY', key, 'tokens', tonumber(ARGV[4]) - tokens)
  end
end

if epoch ~= '' and epoch == o[3] then
  if tonumber(ARGV[6]) >= tonumber(o[4]) then
    redis.call('HSET', org, 'sequence', ARGV[6], 'balance', ARGV[8])
  end
  redis.call('HSET', org, 'spent:' .. ARGV[7], newer_spent(o[6], o[1], ARGV[6], ARGV[9]))
  if key_is_known then
    redis.call('HSET', key, 'spent:' .. ARGV[11], newer_spent(k[3], o[1], ARGV[10], ARGV[12]))
  end
elseif epoch ~= '' then
  -- It cannot be kept, and its hold is freed all the same: whoever was told to read may have read before that charge.
  redis.call('HSET', org, 'trusted', 0)
  redis.call('HINCRBY', org, 'round', 1)
end
return record and 1 or 0

-- Stands in front of every script that works on holds (scripts.ts).
--
-- One organization shard is one hash slot: the tag {n} is in every key of a call. The fields of the hashes:
--   shard  run, incarnation, opens, nonce, generations
--   org    incarnation, generation, trusted, round, epoch, sequence, balance, held, held:DAY, spent:DAY, day, minute, requests, tokens
--   key    incarnation, trusted (the generation in which it is), held:DAY, spent:DAY, day, minute, requests, tokens
--   holds  hold id -> until/span|key id|day|minute|tokens|amount, with a q in front while it is in quarantine: no living request of this hold is
--          older than `until`, which is `span` ms after the admission
--   leases hold id, scored by the ms of its lapse; in quarantine by the negative ms of its end. So one question finds all that is over, and what
--          is not negative is live
--   told   incarnation/generation/round/hold id of callers that were told to read again
-- A `spent:DAY` is generation|sequence|amount and is worth nothing in another generation; memory/account-state.ts has the rules and their proof.
-- The money of a hold is in `held` and `held:DAY` for as long as it is in `holds`, live or in quarantine (limit-store.ts says when that ends).
-- Key hashes of such holds are not among KEYS: their names are made from a prefix with the same tag.

-- Most holds that one call puts into quarantine or frees from it. What is left over errs low until the next call.
local MOST_LAPSED = '1000'
-- A shard that was not touched for this long is as good as forgotten. The gateway processes touch all of them every few seconds.
local SHARD_TTL_MS = 30 * 86400000
-- Of a hold that the former release took: its `timeouts.total` by default, and a minute.
local FORMER_SPAN_MS = '960000'

-- Unix milliseconds: the caller's where it gives them (tests), else this server's, which every process shares.
local function clock(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function begin_incarnation(shard, run, now, opens, nonce)
  local incarnation = string.sub(run, 1, 12) .. ':' .. string.format('%.0f', now) .. nonce
  redis.call('DEL', shard)
  redis.call('HSET', shard, 'run', run, 'incarnation', incarnation, 'opens', opens, 'nonce', nonce)
  redis.call('PEXPIRE', shard, SHARD_TTL_MS)
  return incarnation
end

-- Ms until a shard that forgot is open. A clock that went back keeps it closed for no more than another lease, and one that was open before
-- not at all: whatever is held has lapsed or is known by then, whichever clock counts.
local function opens_in(shard, opens, now, lease_ms)
  local left = opens - now
  if opens == 0 or (left > 0 and left <= lease_ms) then
    return math.max(0, left)
  end
  left = left > 0 and lease_ms or 0
  redis.call('HSET', shard, 'opens', left > 0 and now + left or 0)
  return left
end

-- Of this server process. Asking for it costs 4 us, and nothing else tells at once that it was restarted, failed over or restored.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- What is kept here belongs to one incarnation of the shard. It ends when the shard's marker is gone (flushed) or was made by another server
-- process. A new incarnation knows no holds, so for one lease it only takes back in the live ones that their processes renew.
local function incarnation_of(shard, run, now, lease_ms)
  local marker = redis.call('HMGET', shard, 'run', 'incarnation', 'opens')
  if marker[1] == run then
    return marker[2], opens_in(shard, tonumber(marker[3]), now, lease_ms) == 0
  end
  return begin_incarnation(shard, run, now, now + lease_ms, ''), false
end

-- One of its incarnation's. A plain number, so that the hashes keep their compact form.
local function next_generation(shard)
  return tostring(redis.call('HINCRBY', shard, 'generations', 1))
end

local function add_to_day(hash, day, amount)
  if amount == '0' then
    return
  end
  if tonumber(redis.call('HINCRBY', hash, 'held:' .. day, amount)) <= 0 then
    redis.call('HDEL', hash, 'held:' .. day)
  end
end

local function negative(amount)
  return amount == '0' and '0' or '-' .. amount
end

-- The parts of a hold, as text, and whether it is in quarantine. The former release wrote no until/span.
local function parts(record)
  local quarantined, ends, span, key_id, day, minute, tokens, amount =
    string.match(record, '^(q?)(%d+)/(%d+)|(.-)|(%d+)|(-?%d+)|(%d+)|(%d+)$')
  if ends then
    return key_id, day, minute, tokens, amount, ends, span, quarantined == 'q'
  end
  key_id, day, minute, tokens, amount = string.match(record, '^q?(.-)|(%d+)|(-?%d+)|(%d+)|(%d+)$')
  return key_id, day, minute, tokens, amount, '0', FORMER_SPAN_MS, string.sub(record, 1, 1) == 'q'
end

-- When the quarantine of a hold ends whose lease lapsed then. Only a charge that waits in a spool is renewed for longer than requests live.
local function quarantine_end(lapsed_at, record)
  local _, _, _, _, _, ends, span = parts(record)
  return lapsed_at < tonumber(ends) and tonumber(ends) or lapsed_at + tonumber(span)
end

local function free(org, holds, leases, key_prefix, hold_id, record)
  local key_id, day, _, _, amount = parts(record)
  redis.call('HDEL', holds, hold_id)
  redis.call('ZREM', leases, hold_id)
  redis.call('HINCRBY', org, 'held', negative(amount))
  add_to_day(org, day, negative(amount))
  add_to_day(key_prefix .. key_id, day, negative(amount))
end

-- Whose lease is over goes into quarantine, and whose quarantine is over is free. That hold may have been charged, by a process whose release
-- never came: nobody is believed who read before now. Returns whether any was freed.
local function lapse(org, holds, leases, key_prefix, now)
  local over = redis.call('ZRANGEBYSCORE', leases, string.format('%d', -now), string.format('%d', now), 'WITHSCORES', 'LIMIT', '0', MOST_LAPSED)
  local freed = false
  for i = 1, #over, 2 do
    local hold_id, score = over[i], tonumber(over[i + 1])
    local record = redis.call('HGET', holds, hold_id)
    local ends = record and (score < 0 and -score or quarantine_end(score, record))
    if not record then
      redis.call('ZREM', leases, hold_id)
    elseif ends <= now then
      free(org, holds, leases, key_prefix, hold_id, record)
      freed = true
    else
      redis.call('HSET', holds, hold_id, 'q' .. record)
      redis.call('ZADD', leases, string.format('%d', -ends), hold_id)
    end
  end
  if freed then
    redis.call('HSET', org, 'trusted', 0)
    redis.call('HINCRBY', org, 'round', 1)
  end
  return freed
end

-- Stands in front of every script that works on holds (scripts.ts).
--
-- One organization shard is one hash slot: the tag {n} is in every key of a call. The fields of the
-- hashes:
--   shard  run, incarnation, opens, nonce, generations, touched (when, by this server's clock),
--          skipped (ms by which the shard's own clock is behind
--          that), listed (since when `known` counts), fence (the one with which this incarnation
--            was opened, '' before; the former release wrote none)
--   known  organization -> incarnation|when its hash was last kept from expiring. A hash for each
--          span of time (known_of)
--   org    incarnation, generation, trusted, round, epoch, sequence, balance, held, held:DAY,
--          spent:DAY, day, minute, requests, tokens, ends (no
--          quarantine ends before), opens (after keys of it were lost)
--   key    incarnation, trusted (the generation in which it is), held:DAY, spent:DAY, day, minute,
--          requests, tokens
--   holds  hold id -> until/span|key id|day|minute|tokens|amount, with a q in front while it is in
--          quarantine: no living request of this hold is
--          older than `until`, which is `span` ms after the admission
--   leases live hold ids, scored by the ms of their expiry       quarantine  hold ids, scored by
--          the ms of its end
--   `told` incarnation/generation/round/hold id of callers that were asked to read again
-- The money of a hold is in `held` and `held:DAY` for as long as it is in `holds`, live or in
-- quarantine (limit-store.ts says when that ends). Leases, quarantines, `opens` and `known` are of
-- the shard's own clock (shard_clock); minutes, days and `touched` of this server's. A `spent:DAY`
-- is generation|sequence|amount and is worth nothing in another generation; memory/account-state.ts
-- has the rules and their proof. The money of a hold is in `held` and `held:DAY` for as long as it
-- is in `holds`, live or in quarantine (limit-store.ts says when that ends). Key hashes of holds
-- are not among KEYS: their names are made from a prefix with the same tag. So are `known` and
-- `quarantine`.

-- Most holds that one call puts into quarantine or frees from it. What is left over errs low until
-- the next call.
local MOST_LAPSED = '1000'
-- A shard that was not touched for this long is as good as forgotten. The gateway processes touch
-- all of them every few seconds.
local SHARD_TTL_MS = 30 * 86400000
-- Twice what may pass between two touches.
local LONGEST_GAP_MS = 10000
-- Less than what is idle is kept for beyond the last quarantine.
local EXPIRING_GAP_MS = 300000
-- Span of a hold of the former release: the default `timeouts.total`, and a minute.
local FORMER_SPAN_MS = '960000'

-- Unix milliseconds, and whether they are of a clock that may step: this server's, which every
-- process shares, or one that a test steps (~ms). Else they are the caller's own.
local function clock(given)
  if given ~= '' then
    local steps = string.sub(given, 1, 1) == '~'
    return tonumber(steps and string.sub(given, 2) or given), steps
  end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000), true
end

-- Kept for a day, and in use for two hours, which is longer than anything idle is kept.
local function known_of(shard, at, spans_ago)
  return string.sub(shard, 1, -6) .. 'known:' .. string.format('%d', math.floor(at / 7200000) - spans_ago)
end

local function begin_incarnation(shard, run, now, steps, opens, nonce)
  local incarnation = string.sub(run, 1, 12) .. ':' .. string.format('%.0f', now) .. nonce
  redis.call('DEL', shard)
  redis.call('HSET', shard, 'run', run, 'incarnation', incarnation, 'opens', opens, 'nonce', nonce, 'fence', '')
  if steps then
    redis.call('HSET', shard, 'touched', now)
  end
  redis.call('PEXPIRE', shard, SHARD_TTL_MS)
  return incarnation
end

-- The shard's own clock. Every process touches the shard every five seconds; over a longer gap, and
-- over a step back, this clock stands: this server's clock was set, or it stood still, or no
-- process could reach it, and nothing expires because of that. After a long one keys may have
-- expired before their time: for one lease live holds are taken back in. A call that only releases
-- does not keep what it found (`keeps`): it has to work when memory is full. Returns the clock, and
-- when the shard opens.
local function shard_clock(shard, now, steps, touched, skipped, opens, lease_ms, keeps)
  if not steps then
    return now, opens
  end
  local gap = now - (tonumber(touched) or now)
  local behind = tonumber(skipped) or 0
  if gap < 0 or gap > LONGEST_GAP_MS then
    behind = behind + gap
    if keeps then
      redis.call('HSET', shard, 'touched', now, 'skipped', behind)
    end
    if keeps and gap > EXPIRING_GAP_MS then
      opens = now - behind + lease_ms
      redis.call('HSET', shard, 'opens', opens, 'listed', now - behind)
    end
  end
  return now - behind, opens
end

-- Ms until a shard that forgot is open. A clock that went back keeps it closed for no more than
-- another lease, and one that was open before not at all: every hold has expired or is known by
-- then, by either clock.
local function opens_in(shard, opens, now, lease_ms)
  local left = opens - now
  if opens == 0 or (left > 0 and left <= lease_ms) then
    return math.max(0, left)
  end
  left = left > 0 and lease_ms or 0
  redis.call('HSET', shard, 'opens', left > 0 and now + left or 0)
  return left
end

-- Id of this server process. Reading it costs 4 us, and only it shows at once a restart, failover
-- or restore.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- State here belongs to one incarnation of the shard. The incarnation ends when the shard's marker
-- is gone (flushed) or was made by another server process. A new incarnation knows no holds, so for
-- one lease it only takes back in the live ones that their processes renew; that lease begins when
-- it gets its fence, which was raised in PostgreSQL (fence-shards-n.lua). `newest`: the newest
-- fence of this shard that the caller has read there. Where it is newer, another server was made
-- master in this one's place, and this one must not admit or renew anything.
-- Returns it, whether it admits, the shard's clock, and whether it is fenced off.
local function incarnation_of(shard, run, now, steps, lease_ms, newest)
  local marker = redis.call('HMGET', shard, 'run', 'incarnation', 'opens', 'touched', 'skipped', 'fence')
  if marker[1] ~= run then
    return begin_incarnation(shard, run, now, steps, now + lease_ms, ''), false, now, false
  end
  local at, opens = shard_clock(shard, now, steps, marker[4], marker[5], tonumber(marker[3]), lease_ms, true)
  local fence = tonumber(marker[6] or newest == 0 and '0' or '')
  local is_open = fence and fence >= newest and opens_in(shard, opens, at, lease_ms) == 0
  return marker[2], is_open or false, at, (fence and fence < newest) or false
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

-- The parts of a hold, as text, and whether it is in quarantine. The former release wrote no
-- until/span.
local function parts(record)
  local quarantined, ends, span, key_id, day, minute, tokens, amount =
    string.match(record, '^(q?)(%d+)/(%d+)|(.-)|(%d+)|(-?%d+)|(%d+)|(%d+)$')
  if ends then
    return key_id, day, minute, tokens, amount, ends, span, quarantined == 'q'
  end
  key_id, day, minute, tokens, amount = string.match(record, '^q?(.-)|(%d+)|(-?%d+)|(%d+)|(%d+)$')
  return key_id, day, minute, tokens, amount, '0', FORMER_SPAN_MS, string.sub(record, 1, 1) == 'q'
end

-- Moves holds with an expired lease into quarantine, and frees those whose quarantine is over. A
-- hold that is freed here may have been charged, by a process whose release never came: snapshots
-- read before now are not trusted. Returns whether the organization has to be read again.
local function lapse(org, holds, leases, quarantine, key_prefix, ends, at, ttl_ms)
  local over = redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%d', at), 'WITHSCORES', 'LIMIT', '0', MOST_LAPSED)
  if #over == 0 and not (ends and ends <= at) then
    return false
  end

  local function quarantine_one(hold_id, lapsed_at)
    local record = redis.call('HGET', holds, hold_id)
    -- Before what takes memory: organization.lua says why.
    redis.call('ZREM', leases, hold_id)
    if record then
      local _, _, _, _, _, until_at, span = parts(record)
      -- Only a charge that waits in a spool is renewed for longer than requests live.
      local ends_at = lapsed_at < tonumber(until_at) and tonumber(until_at) or lapsed_at + tonumber(span)
      redis.call('HSET', holds, hold_id, 'q' .. record)
      redis.call('ZADD', quarantine, string.format('%d', ends_at), hold_id)
    end
  end

  local function free_one(hold_id)
    local record = redis.call('HGET', holds, hold_id)
    redis.call('ZREM', quarantine, hold_id)
    if record then
      local key_id, day, _, _, amount = parts(record)
      redis.call('HDEL', holds, hold_id)
      redis.call('HINCRBY', org, 'held', negative(amount))
      add_to_day(org, day, negative(amount))
      add_to_day(key_prefix .. key_id, day, negative(amount))
    end
  end

  for i = 1, #over, 2 do
    quarantine_one(over[i], tonumber(over[i + 1]))
  end
  if #over > 0 then
    redis.call('PEXPIRE', quarantine, ttl_ms)
  end
  local free = redis.call('ZRANGEBYSCORE', quarantine, '-inf', string.format('%d', at), 'LIMIT', '0', MOST_LAPSED)
  for _, hold_id in ipairs(free) do
    free_one(hold_id)
  end
  local first = redis.call('ZRANGEBYSCORE', quarantine, '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  if first[2] then
    redis.call('HSET', org, 'ends', first[2])
  else
    redis.call('HDEL', org, 'ends')
  end
  if #free > 0 then
    redis.call('HSET', org, 'trusted', 0)
    redis.call('HINCRBY', org, 'round', 1)
  end
  return true
end

-- An organization whose hash, holds or leases were lost. What of its holds is left stays held, in
-- quarantine until their processes renew them; and for one lease nothing is admitted, in which live
-- holds that were lost are taken back in. Too much may be held of its keys' budgets then.
local function recover(shard, incarnation, org, holds, leases, quarantine, at, lease_ms, ttl_ms)
  local left, sum = {}, 0
  for _, zset in ipairs({ leases, quarantine }) do
    for _, hold_id in ipairs(redis.call('ZRANGEBYSCORE', zset, '-inf', '+inf')) do
      left[hold_id] = redis.call('HGET', holds, hold_id) or nil
    end
  end
  redis.call('DEL', org, holds, leases, quarantine)
  for hold_id, record in pairs(left) do
    local _, day, _, _, amount, ends, span, quarantined = parts(record)
    sum = sum + tonumber(amount)
    add_to_day(org, day, amount)
    ends = tonumber(ends) > at + lease_ms and tonumber(ends) or at + tonumber(span)
    redis.call('ZADD', quarantine, string.format('%d', ends), hold_id)
    redis.call('HSET', holds, hold_id, quarantined and record or 'q' .. record)
  end
  redis.call('HSET', org, 'incarnation', incarnation, 'generation', next_generation(shard), 'trusted', 0, 'round', 0, 'epoch', '', 'sequence', -1,
    'balance', 0, 'held', string.format('%d', sum), 'requests', 0, 'tokens', 0, 'ends', 0, 'opens', string.format('%d', at + lease_ms))
  for _, name in ipairs({ org, holds, quarantine }) do
    redis.call('PEXPIRE', name, ttl_ms)
  end
end

-- True if an organization without a hash had one that did not expire.
local function is_lost(shard, incarnation, id, leases, quarantine, at, ttl_ms)
  for spans_ago = 0, 1 do
    local of, kept_at = string.match(redis.call('HGET', known_of(shard, at, spans_ago), id) or '', '^(.-)|(%d+)$')
    if of == incarnation and kept_at + ttl_ms - 60000 > at and tonumber(kept_at) >= tonumber(redis.call('HGET', shard, 'listed') or 0) then
      return true
    end
  end
  return redis.call('ZCARD', leases) + redis.call('ZCARD', quarantine) > 0
end

local function note_known(shard, incarnation, id, at)
  local known = known_of(shard, at, 0)
  redis.call('HSET', known, id, incarnation .. '|' .. string.format('%d', at))
  redis.call('PEXPIRE', known, 86400000)
end

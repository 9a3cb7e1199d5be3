-- Precedes every script (scripts.ts). docs/design.md, "State in Redis", explains shard,
-- incarnation, shard clock and recovery; docs/life-of-a-request.md, "An account in the limit
-- store", explains when a balance is trusted.
--
-- Keys of one shard share the hash tag {n}, so that one call may use all of them:
--   shard       hash, marker of the incarnation
--     run          run_id of the Redis process that began the incarnation
--     incarnation  id
--     fence        fence with which it was opened, '' before that
--     opens        ms at which it begins to admit, 0: open
--     nonce        random text of the process that began it on purpose (open-shards-n.lua)
--     touched      ms of the last call, by the server's clock
--     skipped      ms by which the shard clock is behind the server's clock
--     listed       ms before which `known` is incomplete
--     generations  the last trust counter that was given out
--   org:ID      hash, state of an organization
--     incarnation  in which the state began. A state of another one is invalid
--     generation   trust counter: a new one begins with the state and with each ledger epoch. Spend
--                  and key states that were stored under another counter are invalid
--     trusted      1 or 0
--     round        number of times that trust was withdrawn under this counter
--     epoch, sequence, balance, spent:DAY   newest account snapshot; spent:DAY is
--                  counter|sequence|amount
--     held, held:DAY   sum of all holds, and of those of one day
--     day, minute, requests, tokens   windows
--     ends         ms before which nothing in quarantine:ID ends. May be absent if that is empty
--     opens        ms at which it admits again after a recovery
--   key:ID      hash, state of an API key: incarnation, trusted (counter/round in which it is),
--               held:DAY, spent:DAY, day, minute, requests, tokens; with longer budgets also
--     month:FIRST, lifetime   spend as spent:DAY, of the month that begins with this day
--     counted      the counter under which its held:DAY were counted from holds:ID
--   holds:ID    hash, hold id -> until/span|key id|day|minute|tokens|amount. The request of the
--               hold ends before `until`, which is `span` ms after the admission. A leading q
--               marks quarantine. A leading o marks an owed hold, and the amount is its charge
--   leases:ID      sorted set, ids of holds with a slot by the ms at which their leases expire
--   quarantine:ID  sorted set, ids of holds without one, owed or in quarantine, by the ms at which
--               they end
--   known:SPAN  hash of a span of time, organization id -> incarnation|ms at which its hash got
--               its last expiry
--   `told:KEY`  set of incarnation/counter/round/hold id: callers that were asked to read again
-- `held` and `held:DAY` include a hold for as long as `holds` has it, live or in quarantine.
-- Expiries, `opens` and `known` are by the shard clock; minutes, days and `touched` are by the
-- server's. KEYS does not name every key: scripts make other names from a prefix with the same tag.

-- Most holds that one call puts into quarantine, and most that it frees from there. The rest stays
-- held until the next call.
local MOST_EXPIRED = '1000'
-- Gateway processes touch every shard every few seconds, so an untouched one is unused.
local SHARD_TTL_MS = 30 * 86400000
-- Touches are 5 s apart. A longer gap than this stops the shard clock.
local LONGEST_GAP_MS = 10000
-- In a gap longer than this, keys may have expired by the server's clock, but not by the shard
-- clock. Idle keys outlive the last quarantine by more than this.
local EXPIRING_GAP_MS = 300000

-- Returns Unix milliseconds, and whether they are of the server's clock, which may be set. ARGV
-- has '' for the clock of this server, ~ms for a server clock that a test sets, ms for the caller's
-- own clock.
local function clock(given)
  if given ~= '' then
    local of_server = string.sub(given, 1, 1) == '~'
    return tonumber(of_server and string.sub(given, 2) or given), of_server
  end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000), true
end

-- Each span is written for two hours, longer than any idle key lives, and expires after a day.
local function known_key(shard, shard_now, spans_ago)
  return string.sub(shard, 1, -6) .. 'known:' .. string.format('%d', math.floor(shard_now / 7200000) - spans_ago)
end

-- Returns whether this server may evict keys.
local function evicts()
  local memory = redis.call('INFO', 'memory')
  local policy = string.match(memory, 'maxmemory_policy:(%S+)') or 'noeviction'
  return policy ~= 'noeviction' and (string.match(memory, 'maxmemory:(%d+)') or '0') ~= '0'
end

local function begin_incarnation(shard, run, now, of_server, opens, nonce)
  local incarnation = string.sub(run, 1, 12) .. ':' .. string.format('%.0f', now) .. nonce
  redis.call('DEL', shard)
  redis.call('HSET', shard, 'run', run, 'incarnation', incarnation, 'opens', opens, 'nonce', nonce, 'fence', '')
  if of_server then
    redis.call('HSET', shard, 'touched', now)
  end
  redis.call('PEXPIRE', shard, SHARD_TTL_MS)
  return incarnation
end

-- Returns the shard clock, and when the shard opens. The shard clock stops over a gap between two
-- touches and over a step back. The server's clock was set, the server stood still, or no process
-- could reach it, and no lease may expire because of that. After a gap in which keys may have
-- expired, the shard closes for one lease, in which live holds are registered again.
-- `keeps`: stores the result. A call that only releases does not, because it must work when memory
-- is full.
local function shard_clock(shard, now, of_server, touched, skipped, opens, lease_ms, keeps)
  if not of_server then
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

-- Returns the ms until a shard opens, at most one lease: a clock that was set back would keep the
-- shard closed for longer. An open shard (0) stays open.
local function opens_in(shard, opens, now, lease_ms)
  local left = opens - now
  if opens == 0 or (left > 0 and left <= lease_ms) then
    return math.max(0, left)
  end
  left = left > 0 and lease_ms or 0
  redis.call('HSET', shard, 'opens', left > 0 and now + left or 0)
  return left
end

-- Id of this Redis process. Only this id shows a restart, failover or restore at once. The call
-- costs 4 us.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- Finds the incarnation of a shard, or begins one if the marker is gone (flushed) or was made by
-- another Redis process. A new incarnation has no holds and is closed. It opens one lease after it
-- got its fence (fence-shards-n.lua).
-- `newest`: the newest fence of the shard that the caller has read in PostgreSQL. An older fence
-- here means that another server became master in this one's place ("fenced off").
-- Returns the incarnation, whether the shard admits, the shard clock, whether it is fenced off.
local function incarnation_of(shard, run, now, of_server, lease_ms, newest)
  local marker = redis.call('HMGET', shard, 'run', 'incarnation', 'opens', 'touched', 'skipped', 'fence')
  if marker[1] ~= run then
    return begin_incarnation(shard, run, now, of_server, now + lease_ms, ''), false, now, false
  end
  local shard_now, opens = shard_clock(shard, now, of_server, marker[4], marker[5], tonumber(marker[3]), lease_ms, true)
  local fence = tonumber(marker[6])
  local admits = fence and fence >= newest and opens_in(shard, opens, shard_now, lease_ms) == 0
  return marker[2], admits or false, shard_now, (fence and fence < newest) or false
end

-- A plain number keeps the hashes in their compact form.
local function next_trust_counter(shard)
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

-- Returns the parts of a stored hold as text. The state is q, o or ''.
local function parse_hold(record)
  local state, until_at, span, key_id, day, minute, tokens, amount =
    string.match(record, '^([qo]?)(%d+)/(%d+)|(.-)|(%d+)|(-?%d+)|(%d+)|(%d+)$')
  return key_id, day, minute, tokens, amount, until_at, span, state
end

-- Returns when a hold ends if its lease expires at this time. Leases are renewed beyond the life of
-- a request only while its charge waits for PostgreSQL.
local function end_after(expires_at, until_at, span)
  return expires_at < tonumber(until_at) and tonumber(until_at) or expires_at + tonumber(span)
end

-- Moves holds with an expired lease into quarantine, and frees those whose quarantine is over. The
-- owner of a freed hold may have charged it without a release, so trust is withdrawn.
-- Returns whether the organization's hash may have changed.
local function expire_holds(org, holds, leases, quarantine, key_prefix, ends, shard_now, ttl_ms)
  local expired = redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%d', shard_now), 'WITHSCORES', 'LIMIT', '0', MOST_EXPIRED)
  if #expired == 0 and not (ends and ends <= shard_now) then
    return false
  end

  local function quarantine_one(hold_id, expired_at)
    local record = redis.call('HGET', holds, hold_id)
    -- Precedes the writes that take memory (save_freed in organization.lua).
    redis.call('ZREM', leases, hold_id)
    local _, _, _, _, _, until_at, span, state = parse_hold(record or '')
    if state == '' then
      redis.call('HSET', holds, hold_id, 'q' .. record)
      redis.call('ZADD', quarantine, string.format('%d', end_after(expired_at, until_at, span)), hold_id)
    end
  end

  local function free_one(hold_id)
    local record = redis.call('HGET', holds, hold_id)
    redis.call('ZREM', quarantine, hold_id)
    if record then
      local key_id, day, _, _, amount = parse_hold(record)
      redis.call('HDEL', holds, hold_id)
      redis.call('HINCRBY', org, 'held', negative(amount))
      add_to_day(org, day, negative(amount))
      add_to_day(key_prefix .. key_id, day, negative(amount))
    end
  end

  for i = 1, #expired, 2 do
    quarantine_one(expired[i], tonumber(expired[i + 1]))
  end
  if #expired > 0 then
    redis.call('PEXPIRE', quarantine, ttl_ms)
  end
  local over = redis.call('ZRANGEBYSCORE', quarantine, '-inf', string.format('%d', shard_now), 'LIMIT', '0', MOST_EXPIRED)
  for _, hold_id in ipairs(over) do
    free_one(hold_id)
  end
  local first = redis.call('ZRANGEBYSCORE', quarantine, '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  if first[2] then
    redis.call('HSET', org, 'ends', first[2])
  else
    redis.call('HDEL', org, 'ends')
  end
  if #over > 0 then
    redis.call('HSET', org, 'trusted', 0)
    redis.call('HINCRBY', org, 'round', 1)
  end
  return true
end

-- Returns whether an organization that holds money, but has no leases, has lost leases.
local function misses_leases(holds, quarantine)
  local without_slot = redis.call('ZCARD', quarantine)
  return without_slot == 0 or without_slot ~= redis.call('HLEN', holds)
end

-- Rebuilds an organization whose hash, holds or leases were lost. Holds that are left go into
-- quarantine until their processes renew them. Nothing is admitted for one lease, in which lost
-- live holds are registered again. The day sums of its keys may be too high afterwards,
-- until an admission counts them again (scarcest_funds) or they are of a day that is over.
local function recover(shard, incarnation, org, holds, leases, quarantine, shard_now, lease_ms, ttl_ms)
  local left, sum = {}, 0
  for _, zset in ipairs({ leases, quarantine }) do
    for _, hold_id in ipairs(redis.call('ZRANGEBYSCORE', zset, '-inf', '+inf')) do
      left[hold_id] = redis.call('HGET', holds, hold_id) or nil
    end
  end
  redis.call('DEL', org, holds, leases, quarantine)
  for hold_id, record in pairs(left) do
    local _, day, _, _, amount, ends, span, state = parse_hold(record)
    sum = sum + tonumber(amount)
    add_to_day(org, day, amount)
    ends = tonumber(ends) > shard_now + lease_ms and tonumber(ends) or shard_now + tonumber(span)
    redis.call('ZADD', quarantine, string.format('%d', ends), hold_id)
    redis.call('HSET', holds, hold_id, state ~= '' and record or 'q' .. record)
  end
  redis.call('HSET', org, 'incarnation', incarnation, 'generation', next_trust_counter(shard), 'trusted', 0, 'round', 0, 'epoch', '',
    'sequence', -1, 'balance', 0, 'held', string.format('%d', sum), 'requests', 0, 'tokens', 0, 'ends', 0,
    'opens', string.format('%d', shard_now + lease_ms))
  for _, name in ipairs({ org, holds, quarantine }) do
    redis.call('PEXPIRE', name, ttl_ms)
  end
end

-- Returns whether the missing hash of an organization was lost. It was not if the organization is
-- new here, or if its hash expired as planned.
local function is_lost(shard, incarnation, id, leases, quarantine, shard_now, ttl_ms)
  for spans_ago = 0, 1 do
    local of, kept_at = string.match(redis.call('HGET', known_key(shard, shard_now, spans_ago), id) or '', '^(.-)|(%d+)$')
    if of == incarnation and kept_at + ttl_ms - 60000 > shard_now and tonumber(kept_at) >= tonumber(redis.call('HGET', shard, 'listed') or 0) then
      return true
    end
  end
  return redis.call('ZCARD', leases) + redis.call('ZCARD', quarantine) > 0
end

local function note_known(shard, incarnation, id, shard_now)
  local known = known_key(shard, shard_now, 0)
  redis.call('HSET', known, id, incarnation .. '|' .. string.format('%d', shard_now))
  redis.call('PEXPIRE', known, 86400000)
end

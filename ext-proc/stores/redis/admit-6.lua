-- One admission: everything is taken, or the first failing rule is the answer and nothing is.
--
-- KEYS  1 shard  2 org  3 key  4 told  5 holds  6 leases
-- ARGV  1 clock, or '' for the server's   2 lease in ms   3 ms until what is idle is forgotten   4 prefix of key hashes
--       5 hold id   6 key id   7 tokens   8 amount   9 concurrency
--       10-12 the organization's rpm, tpm, daily budget, each '' without   13-15 the key's
--       16 ledger epoch   17-20 the organization's sequence, day, balance, spent   21-23 the key's sequence, day, spent
-- Returns  verdict, now, day, minute, available, requests and tokens of the organization's window, of the key's
--       verdict: closed | read_again | admitted | concurrency | requests | tokens | daily_budget | balance
-- Amounts are at most 2^53 in magnitude (amounts.ts), where doubles are exact.

local shard, org, key, told, holds, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local lease_ms, ttl_ms, key_prefix, hold_id, key_id = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local tokens, amount, epoch = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[16]
local TOLD_TTL_MS = 60000

local now = clock(ARGV[1])
local today = math.floor(now / 86400000)
local minute = math.floor(now / 60000)
local incarnation, open = incarnation_of(shard, now, lease_ms)
if not open then
  return { 'closed', now, today, minute }
end

local ORG_FIELDS = { 'incarnation', 'generation', 'trusted', 'round', 'epoch', 'sequence', 'balance', 'held', 'minute', 'requests', 'tokens',
  'day', 'held:' .. today, 'spent:' .. ARGV[18] }
local o = redis.call('HMGET', org, unpack(ORG_FIELDS))
if o[1] ~= incarnation then
  redis.call('DEL', org, holds, leases)
  o = { incarnation, next_generation(shard), '0', '0', false, '-1', '0', '0', false, '0', '0', false, false, false }
elseif lapse(org, holds, leases, key_prefix, now) then
  o = redis.call('HMGET', org, unpack(ORG_FIELDS))
end
local k = redis.call('HMGET', key, 'incarnation', 'trusted', 'minute', 'requests', 'tokens', 'day', 'held:' .. today, 'spent:' .. ARGV[22])
if k[1] ~= incarnation then
  redis.call('DEL', key)
  k = { incarnation, '', false, '0', '0', false, false, false }
end

-- A call of the minute before the window's counts in the window.
if o[9] and tonumber(o[9]) - 1 == minute then
  minute = minute + 1
end
local org_requests, org_tokens, key_requests, key_tokens = 0, 0, 0, 0
if o[9] and tonumber(o[9]) == minute then
  org_requests, org_tokens = tonumber(o[10]), tonumber(o[11])
end
if k[3] and tonumber(k[3]) == minute then
  key_requests, key_tokens = tonumber(k[4]), tonumber(k[5])
end

local generation, trusted, round, known_epoch = o[2], o[3] == '1', tonumber(o[4]), o[5]
local sequence, balance, held = tonumber(o[6]), tonumber(o[7]), tonumber(o[8])
local org_spent, key_spent, key_trusted = o[14], k[8], k[2]

local is_new_minute = not (o[9] and tonumber(o[9]) == minute and k[3] and tonumber(k[3]) == minute)
local org_held_today, key_held_today = tonumber(o[13] or 0), tonumber(k[7] or 0)

local function forget_spent_before(hash, last_day)
  if last_day and tonumber(last_day) < today then
    redis.call('HDEL', hash, 'spent:' .. (last_day - 1), 'spent:' .. (today - 2))
    if tonumber(last_day) < today - 1 then
      redis.call('HDEL', hash, 'spent:' .. last_day)
    end
  end
end

local function keep_state()
  local org_state = { 'incarnation', incarnation, 'generation', generation, 'trusted', trusted and 1 or 0, 'round', round,
    'epoch', known_epoch or '', 'sequence', sequence, 'balance', balance, 'held', held, 'minute', minute, 'requests', org_requests,
    'tokens', org_tokens, 'day', today }
  local key_state = { 'incarnation', incarnation, 'trusted', key_trusted, 'minute', minute, 'requests', key_requests,
    'tokens', key_tokens, 'day', today }
  if org_spent then
    org_state[#org_state + 1], org_state[#org_state + 2] = 'spent:' .. ARGV[18], org_spent
  end
  if key_spent then
    key_state[#key_state + 1], key_state[#key_state + 2] = 'spent:' .. ARGV[22], key_spent
  end
  if org_held_today > 0 then
    org_state[#org_state + 1], org_state[#org_state + 2] = 'held:' .. today, org_held_today
  end
  if key_held_today > 0 then
    key_state[#key_state + 1], key_state[#key_state + 2] = 'held:' .. today, key_held_today
  end
  redis.call('HSET', org, unpack(org_state))
  redis.call('HSET', key, unpack(key_state))
  forget_spent_before(org, o[12])
  forget_spent_before(key, k[6])
  -- Once a minute is often enough: the time is at least a minute longer than a lease.
  if is_new_minute then
    redis.call('PEXPIRE', org, ttl_ms)
    redis.call('PEXPIRE', key, ttl_ms)
    redis.call('PEXPIRE', holds, ttl_ms)
    redis.call('PEXPIRE', leases, ttl_ms)
  end
end

local function answer(verdict, day)
  return { verdict, now, day or today, minute, string.format('%.0f', balance - held), org_requests, org_tokens, key_requests, key_tokens }
end

local record = redis.call('HGET', holds, hold_id)
if record then
  return answer('admitted', tonumber(string.match(record, '^.-|(%d+)|')))
end

if trusted and known_epoch ~= epoch then
  trusted, round = false, round + 1
end
if not (trusted and key_trusted == generation) then
  local caller = incarnation .. '/' .. generation .. '/' .. round .. '/' .. hold_id
  if redis.call('SREM', told, caller) == 0 then
    redis.call('SADD', told, caller)
    redis.call('PEXPIRE', told, TOLD_TTL_MS)
    org_spent, key_spent = false, false
    keep_state()
    return answer('read_again')
  end
  if known_epoch ~= epoch then
    known_epoch, sequence, generation = epoch, -1, next_generation(shard)
  end
  trusted, key_trusted = true, generation
  redis.call('DEL', told)
end
if tonumber(ARGV[17]) >= sequence then
  sequence, balance = tonumber(ARGV[17]), tonumber(ARGV[19])
end
org_spent = newer_spent(org_spent, generation, ARGV[17], ARGV[20])
key_spent = newer_spent(key_spent, generation, ARGV[21], ARGV[23])
if tonumber(ARGV[18]) ~= today or tonumber(ARGV[22]) ~= today then
  keep_state()
  return answer('read_again')
end

local function is_over(limit, used, more)
  return limit ~= '' and used + more > tonumber(limit)
end

-- A request larger than the whole limit is admitted when nothing is counted yet.
local function is_over_tokens(limit, used)
  return used > 0 and is_over(limit, used, tokens)
end

local function is_over_budget(limit, spent, held_today)
  return is_over(limit, tonumber(string.match(spent, '|(%d+)$')) + held_today, amount)
end

local live = redis.call('ZCARD', leases)
local failing
if live >= tonumber(ARGV[9]) then
  failing = 'concurrency'
elseif is_over(ARGV[10], org_requests, 1) or is_over(ARGV[13], key_requests, 1) then
  failing = 'requests'
elseif is_over_tokens(ARGV[11], org_tokens) or is_over_tokens(ARGV[14], key_tokens) then
  failing = 'tokens'
elseif is_over_budget(ARGV[12], org_spent, org_held_today) or is_over_budget(ARGV[15], key_spent, key_held_today) then
  failing = 'daily_budget'
elseif balance - held < amount then
  failing = 'balance'
end
if failing then
  keep_state()
  return answer(failing)
end

org_requests, key_requests = org_requests + 1, key_requests + 1
org_tokens, key_tokens = org_tokens + tokens, key_tokens + tokens
held = held + amount
redis.call('HSET', holds, hold_id, key_id .. '|' .. today .. '|' .. minute .. '|' .. ARGV[7] .. '|' .. ARGV[8])
redis.call('ZADD', leases, now + lease_ms, hold_id)
org_held_today, key_held_today = org_held_today + amount, key_held_today + amount
keep_state()
if live == 0 then
  redis.call('PEXPIRE', holds, ttl_ms)
  redis.call('PEXPIRE', leases, ttl_ms)
end
return answer('admitted')
